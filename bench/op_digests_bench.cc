// What op digests cost a training step on the CPU: the same steps in turns with a recorder and without, and what the
// marks that stay in the code cost where nobody records. On a GPU: docs/divergence.md, "Cost".
//
// usage: op_digests_bench [PAIRS]

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/training_step.h"
#include "model/module_scope.h"
#include "model/role.h"
#include "scenarios/ops/op_recorder.h"

namespace redraft {
namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Work>
double secondsOf(Work work) {
  const auto begun = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

/// Roles and phases are those of a drafter, whose operations are recorded.
void oneStep(model::Training& training) {
  const model::RoleScope role("drafter[0]");
  const model::StepScope step(0);
  const model::PhaseScope phase(devices::Phase::kDrafterForward);
  training.step();
}

std::size_t recordedStep(model::Training& training, bool allInputs) {
  scenarios::TensorDigests digests(nullptr);
  scenarios::OpRecorder recorder({0, 0, allInputs}, digests);
  oneStep(training);
  return recorder.take().ops.size();
}

void compare(const char* name, const model::Size& size, bool allInputs, int pairs) {
  model::Training training(size);
  oneStep(training);
  std::vector<double> off, ratios;
  std::size_t ops = 0;
  for (int i = 0; i < pairs; ++i) {
    double with = 0, without = 0;
    for (const bool recorded : {i % 2 == 0, i % 2 != 0}) {
      if (recorded)
        with = secondsOf([&] { ops = recordedStep(training, allInputs); });
      else
        without = secondsOf([&] { oneStep(training); });
    }
    off.push_back(without);
    ratios.push_back(with / without);
  }
  std::printf("%-36s on / off %.3f (median of %d pairs, %zu operations, %.2f ms a step without)\n", name,
              median(ratios), pairs, ops, 1e3 * median(off));
}

/// A mark, and a guard of LibTorch's that finds no observer.
void marks() {
  constexpr int kMarks = 1 << 22;
  const double mark = secondsOf([] {
    for (int i = 0; i < kMarks; ++i) const model::ModuleScope scope("layers", i & 3);
  });
  const double guard = secondsOf([] {
    for (int i = 0; i < kMarks; ++i) const at::RecordFunction record(at::RecordScope::FUNCTION);
  });
  model::Training training(model::kSizes[0]);
  oneStep(training);
  std::vector<double> steps;
  for (int i = 0; i < 50; ++i) steps.push_back(secondsOf([&] { oneStep(training); }));
  // Of the suite's model: 2 drafter layers and 3 of the target, 5 module marks and 2 guards a layer at most, 12 beside.
  const double cost = (5 * 5 + 12) * mark / kMarks + 5 * 2 * guard / kMarks;
  std::printf("off: a mark %.1f ns, a guard %.1f ns; 37 and 10 of them in the smallest step, %.4f %% of its %.2f ms\n",
              1e9 * mark / kMarks, 1e9 * guard / kMarks, 100 * cost / median(steps), 1e3 * median(steps));
}

}  // namespace
}  // namespace redraft

int main(int count, char** arguments) {
  using namespace redraft;
  at::set_num_threads(1);
  const int pairs = count > 1 ? std::max(1, std::atoi(arguments[1])) : 20;
  marks();
  compare("the suite's size, all inputs", model::kSizes[0], true, pairs);
  compare("the suite's size, made once", model::kSizes[0], false, pairs);
  compare("hidden 512, all inputs", model::kSizes[1], true, std::max(1, pairs / 5));
  compare("hidden 512, made once", model::kSizes[1], false, std::max(1, pairs / 5));
  return 0;
}
