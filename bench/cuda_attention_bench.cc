// Compiled attention on a GPU beside LibTorch's own with the same mask, dense: forward and backward of one layer of a
// drafter for Qwen3-4B. Both are timed in turns in one run, so that the ratio is of one machine in one state.

#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "devices/cuda_loader.h"
#include "devices/kernel_cache.h"
#include "model/cuda/torch_cuda.h"
#include "model/kernels/attention.h"
#include "model/kernels/gpu_attention.h"

namespace redraft::model {
namespace {

const at::Device kGpu(at::kCUDA, 0);

/// Why there is none, or "". Kept, once there.
std::string startGpu() {
  try {
    static devices::KernelCache* cache = nullptr;
    if (cache != nullptr) return "";
    loadTorchCuda();
    devices::Driver* const driver = devices::loadCudaDriver({}).release();
    cache = new devices::KernelCache(
        *driver,
        gpuAttentionCompiler(devices::cudaArchitecture(*driver, 0),
                             std::make_shared<devices::ArtefactStore>(devices::ArtefactStore::defaultFolder())));
    setKernelCache(cache);
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

double milliseconds(const std::function<void()>& work) {
  const c10::impl::VirtualGuardImpl guard(at::kCUDA);
  guard.synchronizeDevice(0);
  const auto begun = std::chrono::steady_clock::now();
  work();
  guard.synchronizeDevice(0);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Arguments: query heads, key heads, head dim, context, anchors, block size, window.
struct Layer {
  explicit Layer(const benchmark::State& state)
      : context(state.range(3)),
        anchors(std::get<0>(at::randint(1, context, {1, state.range(4)}, at::kLong).sort(1)).to(kGpu)),
        keep(at::ones({1, state.range(4)}, at::device(kGpu).dtype(at::kBool))),
        blockSize(state.range(5)),
        window(state.range(6)),
        mask(makeDraftMask(anchors, keep, context, blockSize, window)),
        scale(1.0 / std::sqrt(static_cast<double>(state.range(2)))) {
    const auto random = [&](std::int64_t heads, std::int64_t rows) {
      return at::randn({1, heads, rows, state.range(2)}, at::device(kGpu).dtype(at::kFloat)).to(at::kBFloat16);
    };
    q = random(state.range(0), mask.queries).requires_grad_(true);
    k = random(state.range(1), mask.keys).requires_grad_(true);
    v = random(state.range(1), mask.keys).requires_grad_(true);
    grad = random(state.range(0), mask.queries);
    group = state.range(0) / state.range(1);
  }

  at::Tensor ours() const { return attention(q, k, v, mask, scale); }
  at::Tensor torchs() const {
    if (!dense.defined()) dense = denseMask(mask).unsqueeze(1);
    // Heads are repeated as it takes a mask in its fused kernel for equal numbers of heads alone.
    return at::scaled_dot_product_attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), dense, 0.0,
                                            false, scale);
  }
  std::vector<at::Tensor> backward(const at::Tensor& out) const {
    const std::vector<at::Tensor> outs{out}, grads{grad}, inputs{q, k, v};
    return torch::autograd::grad(outs, inputs, grads);
  }
  double pairs() const { return denseMask(mask).sum().item<double>(); }

  std::int64_t context;
  at::Tensor anchors, keep;
  std::int64_t blockSize, window;
  BlockMask mask;
  double scale;
  std::int64_t group = 1;
  at::Tensor q, k, v, grad;
  mutable at::Tensor dense;
};

struct Times {
  std::vector<double> forward, backward;

  void take(const Layer& layer, at::Tensor (Layer::*run)() const) {
    at::Tensor out;
    forward.push_back(milliseconds([&] { out = (layer.*run)(); }));
    backward.push_back(milliseconds([&] { layer.backward(out); }));
  }
};

void report(benchmark::State& state, const Layer& layer, const Times& ours, const Times& torchs) {
  const double forward = median(ours.forward), backward = median(ours.backward);
  const double flop = 4.0 * layer.pairs() * static_cast<double>(state.range(0) * state.range(2));
  state.counters["forward_ms"] = forward;
  state.counters["backward_ms"] = backward;
  state.counters["sdpa_forward_ms"] = median(torchs.forward);
  state.counters["sdpa_backward_ms"] = median(torchs.backward);
  state.counters["sdpa_over_ours"] = (median(torchs.forward) + median(torchs.backward)) / (forward + backward);
  state.counters["forward_tflops"] = flop / forward * 1e-9;  // over the pairs that the mask shows
  state.counters["backward_tflops"] = 2.5 * flop / backward * 1e-9;
  at::Tensor built;
  std::vector<double> masks;
  for (int i = 0; i < 20; ++i) {
    masks.push_back(milliseconds([&] {
      built = makeDraftMask(layer.anchors, layer.keep, layer.context, layer.blockSize, layer.window).columns;
    }));
  }
  state.counters["mask_ms"] = median(masks);
}

void layerStep(benchmark::State& state) {
  if (const std::string why = startGpu(); !why.empty()) {
    state.SkipWithError(why.c_str());
    return;
  }
  try {
    const Layer layer(state);
    Times warm, ours, torchs;
    for (int i = 0; i < 3; ++i) {
      warm.take(layer, &Layer::ours);
      warm.take(layer, &Layer::torchs);
    }
    for (auto _ : state) {
      ours.take(layer, &Layer::ours);
      torchs.take(layer, &Layer::torchs);
      state.SetIterationTime((ours.forward.back() + ours.backward.back()) * 1e-3);
    }
    report(state, layer, ours, torchs);
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}
BENCHMARK(layerStep)
    ->Name("attention/cuda/step")
    ->Args({32, 8, 128, 3072, 512, 16, 0})
    ->Args({32, 8, 128, 3072, 512, 16, 512})
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace redraft::model
