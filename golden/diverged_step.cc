#include <algorithm>
#include <bit>

#include "golden/divergence.h"

namespace redraft::golden {

namespace {

bool sameNumber(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool differs(const NumericsComparison& comparison, std::int64_t step, const std::vector<std::string>& metrics) {
  return std::any_of(comparison.metrics.begin(), comparison.metrics.end(), [&](const MetricDifference& each) {
    return each.step == step && std::find(metrics.begin(), metrics.end(), each.metric) != metrics.end();
  });
}

std::string stageOf(const NumericsComparison& comparison, std::int64_t step, std::int64_t steps) {
  if (step >= steps) return "evaluation";
  if (differs(comparison, step, {"loss", "accuracy", "prefix_acceptance", "tokens"})) return "forward";
  const bool gradients = !comparison.gradients.empty() && comparison.gradients.front().step == step;
  if (gradients || differs(comparison, step, {"grad_norm"})) return "backward";
  return "update";
}

/// What does not depend on where a run was cut short: hash and digests of the last step are kept there in any case.
bool sameStep(const StepMetrics& a, const StepMetrics& b) {
  for (const auto& [name, value] : a.values) {
    const auto other = b.values.find(name);
    if (other == b.values.end() || !sameNumber(value, other->second)) return false;
  }
  return a.parametersHash.empty() || b.parametersHash.empty() || a.parametersHash == b.parametersHash;
}

}  // namespace

StepDivergence divergedStep(const Record& a, const Record& b) {
  StepDivergence found;
  found.comparison = compareNumerics(a, b);
  if (found.comparison.outcome != Outcome::kDifferent) return found;
  found.step = found.comparison.firstStep;
  const std::int64_t end = a.steps.back().step + 1;
  found.stage = stageOf(found.comparison, *found.step, std::min(end, b.steps.back().step + 1));
  for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    const StepMetrics &own = a.steps[i], &other = b.steps[i];
    if (own.step >= *found.step) break;
    if (!own.parametersHash.empty() && own.parametersHash == other.parametersHash) found.lastEqual = own.step;
  }
  return found;
}

std::optional<std::int64_t> firstUnlike(const Record& before, const Record& again, std::int64_t last) {
  for (std::size_t i = 0; i < before.steps.size() && before.steps[i].step <= last; ++i)
    if (i >= again.steps.size() || !sameStep(before.steps[i], again.steps[i])) return before.steps[i].step;
  return std::nullopt;
}

}  // namespace redraft::golden
