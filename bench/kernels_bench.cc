// The pinned operations beside what LibTorch does for the same. Run it as it stands for LibTorch's fastest settings, or
// with base/pinned_environment.h's variables set for those of a pinned run. One thread unless REDRAFT_BENCH_THREADS
// says more.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>

#include "model/kernels/attention.h"
#include "model/kernels/ops.h"

namespace redraft::model {
namespace {

void setThreads(const benchmark::State&) {
  const char* threads = std::getenv("REDRAFT_BENCH_THREADS");
  at::set_num_threads(threads != nullptr ? std::atoi(threads) : 1);
}

std::vector<at::Tensor> gradients(const at::Tensor& out, const at::Tensor& grad,
                                  const std::vector<at::Tensor>& inputs) {
  const std::vector<at::Tensor> outs{out}, grads{grad};
  return torch::autograd::grad(outs, inputs, grads, true);
}

at::ScalarType typeOf(std::int64_t bfloat16) { return bfloat16 != 0 ? at::kBFloat16 : at::kFloat; }

// Arguments: M, K, N, bf16.
template <bool ours>
void linearForward(benchmark::State& state) {
  const at::Tensor x = at::randn({state.range(0), state.range(1)}).to(typeOf(state.range(3)));
  const at::Tensor w = at::randn({state.range(2), state.range(1)}).to(typeOf(state.range(3)));
  for (auto _ : state) benchmark::DoNotOptimize(ours ? model::linear(x, w) : at::matmul(x, w.t()));
  state.counters["flop"] = benchmark::Counter(2.0 * state.range(0) * state.range(1) * state.range(2),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

template <bool ours>
void linearBackward(benchmark::State& state) {
  at::Tensor x = at::randn({state.range(0), state.range(1)}).to(typeOf(state.range(3))).requires_grad_(true);
  at::Tensor w = at::randn({state.range(2), state.range(1)}).to(typeOf(state.range(3))).requires_grad_(true);
  const at::Tensor y = ours ? model::linear(x, w) : at::matmul(x, w.t());
  const at::Tensor grad = at::randn(y.sizes()).to(y.scalar_type());
  for (auto _ : state) benchmark::DoNotOptimize(gradients(y, grad, {x, w}));
  state.counters["flop"] = benchmark::Counter(4.0 * state.range(0) * state.range(1) * state.range(2),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void linearSizes(benchmark::internal::Benchmark* bench) {
  bench->Setup(setThreads)->Unit(benchmark::kMicrosecond);
  for (const std::int64_t bf16 : {0, 1}) {
    for (const std::int64_t n : {64, 192}) bench->Args({128, 64, n, bf16});
    for (const std::int64_t n : {256, 512, 1024}) bench->Args({n, n, n, bf16});
    bench->Args({2048, 128, 384, bf16});
  }
}
BENCHMARK(linearForward<true>)->Name("linear/forward/redraft")->Apply(linearSizes);
BENCHMARK(linearForward<false>)->Name("linear/forward/aten")->Apply(linearSizes);
BENCHMARK(linearBackward<true>)->Name("linear/backward/redraft")->Apply(linearSizes);
BENCHMARK(linearBackward<false>)->Name("linear/backward/aten")->Apply(linearSizes);

// Arguments: S, N, b, d, window.
struct AttentionInputs {
  explicit AttentionInputs(const benchmark::State& state)
      : mask(makeDraftMask(std::get<0>(at::randint(1, state.range(0), {1, state.range(1)}, at::kLong).sort(1)),
                           at::ones({1, state.range(1)}, at::kBool), state.range(0), state.range(2), state.range(4))),
        q(at::randn({1, 4, mask.queries, state.range(3)})),
        k(at::randn({1, 2, mask.keys, state.range(3)})),
        v(at::randn({1, 2, mask.keys, state.range(3)})) {}
  BlockMask mask;
  at::Tensor q, k, v;
};

template <bool ours>
void attentionForward(benchmark::State& state) {
  const AttentionInputs in(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ours ? attention(in.q, in.k, in.v, in.mask, 0.125)
                                  : attentionDense(in.q, in.k, in.v, in.mask, 0.125));
  }
}

template <bool ours>
void attentionStep(benchmark::State& state) {
  AttentionInputs in(state);
  for (at::Tensor* t : {&in.q, &in.k, &in.v}) t->requires_grad_(true);
  const at::Tensor grad = at::randn(in.q.sizes());
  for (auto _ : state) {
    const at::Tensor out =
        ours ? attention(in.q, in.k, in.v, in.mask, 0.125) : attentionDense(in.q, in.k, in.v, in.mask, 0.125);
    benchmark::DoNotOptimize(gradients(out, grad, {in.q, in.k, in.v}));
  }
}

void buildMask(benchmark::State& state) {
  const AttentionInputs in(state);
  const at::Tensor anchors = in.mask.anchors.to(at::kLong), keep = in.mask.keep.to(at::kBool);
  for (auto _ : state) {
    benchmark::DoNotOptimize(makeDraftMask(anchors, keep, state.range(0), state.range(2), state.range(4)).columns);
  }
}

void attentionSizes(benchmark::internal::Benchmark* bench) {
  bench->Setup(setThreads)->Unit(benchmark::kMillisecond);
  bench->Args({1024, 128, 16, 64, 0})->Args({1024, 128, 16, 64, 256})->Args({128, 8, 8, 16, 0});
}
BENCHMARK(attentionForward<true>)->Name("attention/forward/redraft")->Apply(attentionSizes);
BENCHMARK(attentionForward<false>)->Name("attention/forward/dense")->Apply(attentionSizes);
BENCHMARK(attentionStep<true>)->Name("attention/step/redraft")->Apply(attentionSizes);
BENCHMARK(attentionStep<false>)->Name("attention/step/dense")->Apply(attentionSizes);
BENCHMARK(buildMask)->Name("attention/mask")->Apply(attentionSizes);

// Arguments: rows, width.
template <bool ours>
void normStep(benchmark::State& state) {
  at::Tensor x = at::randn({state.range(0), state.range(1)}).requires_grad_(true);
  at::Tensor w = at::randn({state.range(1)}).requires_grad_(true);
  const at::Tensor grad = at::randn(x.sizes());
  for (auto _ : state) {
    const at::Tensor y = ours ? rmsNorm(x, w, 1e-6) : w * (x * at::rsqrt(x.square().mean(-1, true) + 1e-6));
    benchmark::DoNotOptimize(gradients(y, grad, {x, w}));
  }
}

template <bool ours>
void activationStep(benchmark::State& state) {
  at::Tensor gate = at::randn({state.range(0), state.range(1)}).requires_grad_(true);
  at::Tensor up = at::randn({state.range(0), state.range(1)}).requires_grad_(true);
  const at::Tensor grad = at::randn(gate.sizes());
  for (auto _ : state) {
    const at::Tensor y = ours ? siluMul(gate, up) : at::silu(gate) * up;
    benchmark::DoNotOptimize(gradients(y, grad, {gate, up}));
  }
}

template <bool ours>
void lossStep(benchmark::State& state) {
  at::Tensor logits = at::randn({state.range(0), state.range(1)}).requires_grad_(true);
  const at::Tensor labels = at::randint(0, state.range(1), {state.range(0)}, at::kLong);
  const at::Tensor grad = at::ones({state.range(0)});
  for (auto _ : state) {
    const at::Tensor loss = ours ? std::get<0>(crossEntropy(logits, labels))
                                 : at::cross_entropy_loss(logits, labels, {}, at::Reduction::None);
    benchmark::DoNotOptimize(gradients(loss, grad, {logits}));
  }
}

void rowSizes(benchmark::internal::Benchmark* bench) {
  bench->Setup(setThreads)->Unit(benchmark::kMicrosecond)->Args({128, 64})->Args({128, 512})->Args({2048, 512});
}
BENCHMARK(normStep<true>)->Name("rms_norm/step/redraft")->Apply(rowSizes);
BENCHMARK(normStep<false>)->Name("rms_norm/step/aten")->Apply(rowSizes);
BENCHMARK(activationStep<true>)->Name("silu_mul/step/redraft")->Apply(rowSizes);
BENCHMARK(activationStep<false>)->Name("silu_mul/step/aten")->Apply(rowSizes);
BENCHMARK(lossStep<true>)->Name("cross_entropy/step/redraft")->Apply(rowSizes);
BENCHMARK(lossStep<false>)->Name("cross_entropy/step/aten")->Apply(rowSizes);

void adamw(benchmark::State& state) {
  at::Tensor p = at::randn({state.range(0)}), m = at::zeros_like(p), v = at::zeros_like(p);
  const at::Tensor grad = at::randn_like(p);
  std::int64_t step = 0;
  for (auto _ : state) adamwStep(p, m, v, grad, 1e-4, 0.9, 0.999, 1e-8, 0.01, ++step);
  state.SetBytesProcessed(state.iterations() * state.range(0) * 7 * 4);
}
BENCHMARK(adamw)->Name("adamw/redraft")->Setup(setThreads)->Arg(4096)->Arg(1 << 20)->Unit(benchmark::kMicrosecond);

void squares(benchmark::State& state) {
  const at::Tensor x = at::randn({state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(sumOfSquares(x));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 4);
}
BENCHMARK(squares)
    ->Name("sum_of_squares/redraft")
    ->Setup(setThreads)
    ->Arg(4096)
    ->Arg(1 << 20)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace redraft::model
