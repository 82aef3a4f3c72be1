#include "base/formatted.h"
#include "golden/compare.h"

namespace redraft::golden {

namespace {

std::string describeMetric(const MetricDifference& difference) {
  std::string text = difference.metric + ": expected " + difference.expected + ", got " + difference.actual;
  if (difference.ulp) text += " (" + std::to_string(*difference.ulp) + " ULP)";
  return text;
}

}  // namespace

std::string describe(const NumericsComparison& comparison) {
  if (comparison.outcome == Outcome::kEqual) return "equal bit for bit\n";
  if (comparison.outcome == Outcome::kIncomparable) return "not comparable: " + comparison.reason + "\n";
  std::string text = "first difference at step " + std::to_string(*comparison.firstStep) + "\n";
  for (const MetricDifference& difference : comparison.metrics) {
    if (difference.step == *comparison.firstStep) text += "  " + describeMetric(difference) + "\n";
  }
  if (comparison.gradients.empty()) return text + "  no gradient differs\n";
  constexpr std::size_t kShown = 5;
  text += "  gradients first differ at step " + std::to_string(comparison.gradients[0].step) + ", " +
          std::to_string(comparison.gradients.size()) + " of them; the furthest off:\n";
  for (std::size_t i = 0; i < comparison.gradients.size() && i < kShown; ++i) {
    const GradientDifference& gradient = comparison.gradients[i];
    text += "    " + gradient.parameter + ": about " + formatted("%.2g", gradient.relative) + " relative, norm " +
            formatted("%.9g", gradient.l2Expected) + " -> " + formatted("%.9g", gradient.l2Actual) + "\n";
  }
  return text;
}

std::string describe(const ThroughputComparison& comparison) {
  if (comparison.outcome == Outcome::kIncomparable) return "throughput not comparable: " + comparison.reason + "\n";
  std::string text;
  for (const ThroughputRatio& role : comparison.roles) {
    text += "  " + role.role + ": " + formatted("%.0f", role.actualMedian) + " tokens/s against " +
            formatted("%.0f", role.expectedMedian) + ", ratio " + formatted("%.3f", role.ratio) + " (quartiles " +
            formatted("%.3f", role.low) + " to " + formatted("%.3f", role.high) + ")\n";
  }
  return text;
}

}  // namespace redraft::golden
