#include "reports/pace.h"

#include <algorithm>

#include "base/formatted.h"

namespace redraft::reports {
namespace {

constexpr std::size_t kQuartiles = 3;

double meanOf(const std::map<std::string, double>& shares) {
  double sum = 0;
  for (const auto& [role, share] : shares) sum += share;
  return shares.empty() ? 0 : sum / static_cast<double>(shares.size());
}

}  // namespace

std::optional<std::string> bottleneckOf(const Pace& pace) {
  constexpr double kHeldUp = 0.01;
  if (pace.featureWait.empty()) return std::nullopt;
  const double features = meanOf(pace.featureWait), gradients = meanOf(pace.gradientWait);
  if (std::max(features, gradients) <= kHeldUp) return "drafter";
  return features >= gradients ? "target" : "exchange";
}

std::optional<Scaling> scalingOf(const std::string& name, const Pace& base, double baseRate, const Pace& own,
                                 double ownRate) {
  const auto timed = [](const Pace& pace) {
    return pace.stepSeconds.size() == kQuartiles && pace.stepSeconds.front() > 0;
  };
  if (!timed(base) || !timed(own) || baseRate <= 0 || ownRate <= 0) return std::nullopt;
  const std::vector<double>&a = own.stepSeconds, &b = base.stepSeconds;
  Scaling scaling;
  scaling.of = name;
  scaling.ratio = ownRate / baseRate;
  scaling.low = scaling.ratio * (a[1] / a[2]) * (b[0] / b[1]);
  scaling.high = scaling.ratio * (a[1] / a[0]) * (b[2] / b[1]);
  return scaling;
}

std::string paceLine(const Pace& pace) {
  if (pace.stepSeconds.size() != kQuartiles) return "";
  constexpr double kMillis = 1e3, kPercent = 100;
  std::string line = formatted("step %.1f ms (%.1f–%.1f)", kMillis * pace.stepSeconds[1], kMillis * pace.stepSeconds[0],
                               kMillis * pace.stepSeconds[2]);
  for (const auto& [drafter, share] : pace.featureWait) {
    line += "; " + drafter + formatted(" waited for hidden states %.2f %%", kPercent * share);
    const auto gradients = pace.gradientWait.find(drafter);
    if (gradients != pace.gradientWait.end())
      line += formatted(", for gradients %.2f %%", kPercent * gradients->second);
  }
  if (pace.bottleneck) line += "; bottleneck: " + *pace.bottleneck;
  if (pace.scaling)
    line += formatted("; %.3f × (%.3f–%.3f) of ", pace.scaling->ratio, pace.scaling->low, pace.scaling->high) +
            pace.scaling->of;
  return line;
}

}  // namespace redraft::reports
