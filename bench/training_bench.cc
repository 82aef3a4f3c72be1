// A whole training step (target forward, drafter forward and backward, clip, AdamW) with the pinned operations and with
// LibTorch's. The price of pinned bits is `redraft` under base/pinned_environment.h's variables over `libtorch` without
// them: docs/kernels.md has the command and the figures.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <memory>

#include "bench/libtorch_operators.h"
#include "bench/training_step.h"

namespace redraft::model {
namespace {

template <bool ours>
void trainingStep(benchmark::State& state) {
  at::set_num_threads(1);
  std::unique_ptr<LibTorchOperators> theirs;
  if (!ours) theirs = std::make_unique<LibTorchOperators>();
  Training training(kSizes[state.range(0)]);
  training.step();
  for (auto _ : state) training.step();
}
BENCHMARK(trainingStep<true>)->Name("training_step/redraft")->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(trainingStep<false>)->Name("training_step/libtorch")->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace redraft::model
