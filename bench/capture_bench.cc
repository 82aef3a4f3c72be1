// What capturing a run by CUPTI costs: the same steps in blocks, by turns recorded and not (harness/probe). The steps
// are synthetic: products, norms, rotations and losses of the Qwen3-4B drafter's sizes as LibTorch's own operators,
// with autograd and fused AdamW, so that as many kernels of such sizes are launched as training launches. Attention is
// LibTorch's over the context alone.
//
// usage: capture_bench [LAYERS [PAIRS [STEPS [FLUSH]]]]   blocks: PAIRS captured and as many paused, of STEPS steps
// each;
//                                                       records are asked for every FLUSH steps

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/philox.h"
#include "harness/probe/captured_run.h"
#include "harness/trace/binary_trace.h"
#include "model/cuda/torch_cuda.h"
#include "model/role.h"

namespace redraft {
namespace {

constexpr std::int64_t kHidden = 2560, kIntermediate = 9728, kHeads = 32, kKeyHeads = 8, kHeadDim = 128;
constexpr std::int64_t kContext = 3072, kDraft = 512 * 16, kVocabulary = 151936, kChunk = 2048;
constexpr int kFileSteps = 8;

at::TensorOptions onGpu() { return at::TensorOptions(at::kCUDA).dtype(at::kBFloat16); }

at::Tensor weight(std::int64_t out, std::int64_t in) {
  return at::randn({out, in}, onGpu()).mul_(0.02).requires_grad_(true);
}

struct Layer {
  at::Tensor query = weight(kHeads * kHeadDim, kHidden), key = weight(kKeyHeads * kHeadDim, kHidden),
             value = weight(kKeyHeads * kHeadDim, kHidden), out = weight(kHidden, kHeads*kHeadDim),
             gate = weight(kIntermediate, kHidden), up = weight(kIntermediate, kHidden),
             down = weight(kHidden, kIntermediate);
};

at::Tensor normed(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kFloat);
  return (wide * at::rsqrt(wide.square().mean(-1, true) + 1e-6)).to(at::kBFloat16);
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& angles) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return x * angles.cos() + at::cat({-halves[1], halves[0]}, -1) * angles.sin();
}

class Step {
 public:
  explicit Step(int layers)
      : layers_(static_cast<std::size_t>(layers)),
        head_(at::randn({kVocabulary, kHidden}, onGpu()).mul_(0.02)),
        context_(at::randn({kContext, kHidden}, onGpu())),
        draft_(at::randn({kDraft, kHidden}, onGpu())),
        labels_(at::randint(0, kVocabulary, {kDraft}, at::TensorOptions(at::kCUDA).dtype(at::kLong))),
        angles_(at::rand({1, kDraft, kHeadDim}, onGpu())) {
    for (const Layer& layer : layers_)
      for (const at::Tensor& each :
           {layer.query, layer.key, layer.value, layer.out, layer.gate, layer.up, layer.down}) {
        parameters_.push_back(each);
        first_.push_back(at::zeros_like(each));
        second_.push_back(at::zeros_like(each));
        steps_.push_back(at::zeros({}, at::TensorOptions(at::kCUDA).dtype(at::kFloat)));
      }
  }

  void run(std::int64_t step) {
    const model::RoleScope role("drafter[0]");
    const model::StepScope number(step);
    at::Tensor loss;
    {
      const model::PhaseScope phase(devices::Phase::kDrafterForward);
      at::Tensor x = draft_;
      for (const Layer& layer : layers_) x = forward(layer, x);
      loss = lossOf(normed(x));
    }
    {
      const model::PhaseScope phase(devices::Phase::kBackward);
      loss.backward();
    }
    const model::PhaseScope phase(devices::Phase::kOptimizer);
    update();
  }

 private:
  static at::Tensor heads(const at::Tensor& x, std::int64_t count) {
    return x.view({x.size(0), count, kHeadDim}).transpose(0, 1);
  }

  at::Tensor forward(const Layer& layer, const at::Tensor& x) const {
    const at::Tensor in = normed(x);
    const at::Tensor query = rotated(normed(heads(at::linear(in, layer.query), kHeads)), angles_);
    const at::Tensor all = at::cat({context_, in});
    const at::Tensor key = normed(heads(at::linear(all, layer.key), kKeyHeads));
    const at::Tensor value = heads(at::linear(all, layer.value), kKeyHeads);
    const auto ofContext = [](const at::Tensor& of) {
      return of.slice(1, 0, kContext).repeat_interleave(kHeads / kKeyHeads, 0).unsqueeze(0);
    };
    const at::Tensor mixed =
        at::scaled_dot_product_attention(query.unsqueeze(0), ofContext(key), ofContext(value)).squeeze(0);
    const at::Tensor between = x + at::linear(mixed.transpose(0, 1).reshape({kDraft, kHeads * kHeadDim}), layer.out);
    const at::Tensor wide = normed(between);
    return between + at::linear(at::silu(at::linear(wide, layer.gate)) * at::linear(wide, layer.up), layer.down);
  }

  at::Tensor lossOf(const at::Tensor& x) const {
    at::Tensor sum;
    for (std::int64_t begin = 0; begin < kDraft; begin += kChunk) {
      const at::Tensor logits = at::linear(x.slice(0, begin, begin + kChunk), head_).to(at::kFloat);
      const at::Tensor part = at::cross_entropy_loss(logits, labels_.slice(0, begin, begin + kChunk));
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  }

  void update() {
    std::vector<at::Tensor> values, gradients;
    for (at::Tensor& parameter : parameters_) {
      values.push_back(parameter.detach());
      gradients.push_back(parameter.grad());
      parameter.mutable_grad() = at::Tensor();
    }
    at::_foreach_add_(steps_, 1);
    at::_fused_adamw_(values, gradients, first_, second_, {}, steps_, 1e-5, 0.9, 0.95, 0.0, 1e-8, false, false);
  }

  std::vector<Layer> layers_;
  at::Tensor head_, context_, draft_, labels_, angles_;
  std::vector<at::Tensor> parameters_, first_, second_, steps_;
};

class Bench {
 public:
  Bench(int layers, int steps, int flushEvery) : step_(layers), steps_(steps), flushEvery_(flushEvery) {}

  /// Milliseconds a step, over a block; three more steps before it are not timed.
  double block(harness::DeviceCapture* capture) {
    for (int i = 0; i < 3; ++i) one(capture);
    synchronize();
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < steps_; ++i) one(capture);
    synchronize();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count() / steps_;
  }
  std::int64_t stepsDone() const { return done_; }

 private:
  void one(harness::DeviceCapture* capture) {
    step_.run(done_);
    if (capture != nullptr && done_ % flushEvery_ == 0) capture->flush(done_);
    ++done_;
  }
  static void synchronize() { c10::impl::VirtualGuardImpl(at::kCUDA).synchronizeDevice(0); }

  Step step_;
  const int steps_, flushEvery_;
  std::int64_t done_ = 0;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Mean of the pairs' ratios, and the bounds that 95 % of 10,000 resamples of the pairs lie within.
void printRatio(const char* what, const std::vector<double>& numerators, const std::vector<double>& denominators) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < numerators.size(); ++i) ratios.push_back(numerators[i] / denominators[i]);
  constexpr int kResamples = 10000;
  std::vector<double> means;
  for (int i = 0; i < kResamples; ++i) {
    CounterRng rng(1, "bootstrap", static_cast<std::uint64_t>(i));
    double sum = 0;
    for (std::size_t j = 0; j < ratios.size(); ++j) sum += ratios[static_cast<std::size_t>(rng.below(ratios.size()))];
    means.push_back(sum / static_cast<double>(ratios.size()));
  }
  std::sort(means.begin(), means.end());
  std::printf("%-28s %.4f  [%.4f, %.4f]  (%zu pairs; %.2f and %.2f ms a step)\n", what, mean(ratios), means[250],
              means[9749], ratios.size(), mean(numerators), mean(denominators));
}

/// The newest steps of a trace alone.
harness::Trace newestSteps(const harness::Trace& trace, std::int64_t from) {
  harness::Trace part;
  part.strings = trace.strings;
  part.files = trace.files;
  std::copy_if(trace.records.begin(), trace.records.end(), std::back_inserter(part.records),
               [from](const harness::TraceRecord& record) { return record.step >= from; });
  return part;
}

void describe(const harness::Trace& trace) {
  std::map<std::string, int> kinds, kernels;
  std::map<std::int64_t, std::int64_t> threadOf;
  for (const harness::TraceRecord& record : trace.records) {
    ++kinds[harness::recordKindName(record.kind)];
    if (record.kind == harness::RecordKind::kApi) threadOf[record.correlation] = record.thread;
  }
  for (const harness::TraceRecord& record : trace.records) {
    if (record.kind != harness::RecordKind::kKernel) continue;
    const auto thread = threadOf.find(record.correlation);
    ++kernels["thread " + (thread == threadOf.end() ? "?" : std::to_string(thread->second)) + ", " +
              trace.text(record.role) + ", " + trace.text(record.phase)];
  }
  for (const auto& [kind, count] : kinds) std::printf("  %-12s %d\n", kind.c_str(), count);
  std::printf("kernels by calling thread, role and phase:\n");
  for (const auto& [who, count] : kernels) std::printf("  %-48s %d\n", who.c_str(), count);
}

void check(bool done, const std::string& error) {
  if (!done) throw std::runtime_error(error);
}

int run(int layers, int pairs, int steps, int flushEvery) {
  model::loadTorchCuda();
  Bench bench(layers, steps, flushEvery);
  std::vector<double> never, on, off;
  for (int i = 0; i < std::max(2, pairs / 4); ++i) never.push_back(bench.block(nullptr));
  harness::CapturedRun captured;
  harness::DeviceCapture& capture = captured.capture();
  std::string error;
  for (int pair = 0; pair < pairs; ++pair) {
    for (const bool recorded : {pair % 2 == 0, pair % 2 != 0}) {
      check(recorded ? capture.resume(error) : capture.pause(error), error);
      (recorded ? on : off).push_back(bench.block(recorded ? &capture : nullptr));
    }
  }
  check(capture.resume(error), error);
  bench.block(&capture);
  const harness::Trace trace = captured.stop(harness::StopMode::kWaitForDevices);

  std::printf("%d layers, %d steps a block, %d steps a side\n", layers, steps, steps * pairs);
  printRatio("captured / paused", on, off);
  never.resize(std::min(never.size(), off.size()));
  printRatio("paused / never captured", {off.begin(), off.begin() + static_cast<std::ptrdiff_t>(never.size())}, never);
  const harness::Trace last = newestSteps(trace, bench.stepsDone() - kFileSteps);
  std::printf("compact file of %d steps: %zu bytes; records:\n", kFileSteps, harness::binaryTraceBytes(last).size());
  describe(last);
  std::printf("capture of all steps: %s; %lld lost\n", harness::costText(capture.cost()).c_str(),
              static_cast<long long>(trace.files.front().capture.dropped.value_or(-1)));
  return 0;
}

int argument(int count, char** values, int index, int otherwise) {
  return count > index ? std::max(1, std::atoi(values[index])) : otherwise;
}

}  // namespace
}  // namespace redraft

int main(int argc, char** argv) {
  try {
    return redraft::run(redraft::argument(argc, argv, 1, 1), redraft::argument(argc, argv, 2, 16),
                        redraft::argument(argc, argv, 3, 25), redraft::argument(argc, argv, 4, 1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "capture_bench: %s\n", error.what());
    return 1;
  }
}
