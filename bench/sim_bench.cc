// What a sim op costs over the same op on the CPU: pairs of one op, 1 thread, no autograd, the driver's log of
// allocations muted. docs/sim-backend.md has the figures and the command.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/sim/sim_backend.h"

namespace redraft::model {
namespace {

constexpr int kDevice = 3;

/// Operands small enough that dispatch is most of the cost.
struct Operands {
  explicit Operands(at::Device device)
      : vector(at::ones({16}, device)),
        matrix(at::ones({4, 4}, device)),
        rows(at::ones({64, 16}, device)),
        index(at::arange(16, at::kLong).to(device)),
        options(at::TensorOptions().device(device)) {}
  at::Tensor vector, matrix, rows, index;
  at::TensorOptions options;
};

using Op = void (*)(Operands&);

struct Pair {
  const char* name;
  Op op;
};

constexpr Pair kPairs[] = {
    {"add", [](Operands& in) { benchmark::DoNotOptimize(in.vector.add(in.vector)); }},
    {"add_", [](Operands& in) { in.vector.add_(in.vector); }},
    {"mul_scalar", [](Operands& in) { benchmark::DoNotOptimize(in.vector.mul(2.0)); }},
    {"mm_4x4", [](Operands& in) { benchmark::DoNotOptimize(in.matrix.mm(in.matrix)); }},
    {"linear_4x4", [](Operands& in) { benchmark::DoNotOptimize(at::linear(in.matrix, in.matrix)); }},
    {"view",
     [](Operands& in) {
       benchmark::DoNotOptimize(in.matrix.view({2, 8}));
     }},
    {"slice", [](Operands& in) { benchmark::DoNotOptimize(in.matrix.slice(0, 1, 3)); }},
    {"transpose", [](Operands& in) { benchmark::DoNotOptimize(in.matrix.t()); }},
    {"empty", [](Operands& in) { benchmark::DoNotOptimize(at::empty({16}, in.options)); }},
    {"zeros", [](Operands& in) { benchmark::DoNotOptimize(at::zeros({16}, in.options)); }},
    {"copy_", [](Operands& in) { in.rows.select(0, 0).copy_(in.vector); }},
    {"clone", [](Operands& in) { benchmark::DoNotOptimize(in.vector.clone()); }},
    {"sum", [](Operands& in) { benchmark::DoNotOptimize(in.vector.sum()); }},
    {"mean_dim", [](Operands& in) { benchmark::DoNotOptimize(in.matrix.mean(-1, true)); }},
    {"softmax", [](Operands& in) { benchmark::DoNotOptimize(in.matrix.softmax(-1)); }},
    {"index_select", [](Operands& in) { benchmark::DoNotOptimize(in.rows.index_select(0, in.index)); }},
    {"cat",
     [](Operands& in) {
       benchmark::DoNotOptimize(at::cat({in.matrix, in.matrix}));
     }},
};

at::Device deviceOf(bool sim) {
  if (!sim) return at::kCPU;
  if (!simRegistered()) {
    static auto* const driver = devices::makeSimDriver({}).release();  // outlives every tensor
    registerSim(*driver);
    for (const auto kind : {devices::CallKind::kAllocate, devices::CallKind::kFree, devices::CallKind::kSetCurrent})
      driver->log().mute(kind, true);
  }
  return simDevice(kDevice);
}

void measure(benchmark::State& state, Op op, bool sim) {
  at::set_num_threads(1);
  const c10::NoGradGuard noGrad;
  const c10::DeviceGuard guard(deviceOf(sim));
  Operands operands(deviceOf(sim));
  for (auto _ : state) op(operands);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Pair& pair : kPairs)
    for (const bool sim : {false, true})
      benchmark::RegisterBenchmark((std::string(pair.name) + (sim ? "/sim" : "/cpu")).c_str(), measure, pair.op, sim)
          ->ComputeStatistics("min", [](const std::vector<double>& times) { return *std::ranges::min_element(times); });
  return true;
}();

}  // namespace
}  // namespace redraft::model
