#include <cstdio>

#include "golden/compare.h"

namespace redraft::golden {

namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

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
    text += "    " + gradient.parameter + ": about " + format("%.2g", gradient.relative) + " relative, norm " +
            format("%.9g", gradient.l2Expected) + " -> " + format("%.9g", gradient.l2Actual) + "\n";
  }
  return text;
}

std::string describe(const ThroughputComparison& comparison) {
  if (comparison.outcome == Outcome::kIncomparable) return "throughput not comparable: " + comparison.reason + "\n";
  std::string text;
  for (const ThroughputRatio& role : comparison.roles) {
    text += "  " + role.role + ": " + format("%.0f", role.actualMedian) + " tokens/s against " +
            format("%.0f", role.expectedMedian) + ", ratio " + format("%.3f", role.ratio) + " (quartiles " +
            format("%.3f", role.low) + " to " + format("%.3f", role.high) + ")\n";
  }
  return text;
}

}  // namespace redraft::golden
