#pragma once
// How fast a training run went, step by step, and what its streams waited for.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace redraft::reports {

/// Throughput as a multiple of another case's of the same suite: tokens/s over tokens/s, of the medians. Low and high
/// are the quartiles of both cases' steps against each other.
struct Scaling {
  std::string of;
  double ratio = 0, low = 0, high = 0;
  bool operator==(const Scaling&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("of", of);
    visit("ratio", ratio);
    visit("low", low);
    visit("high", high);
  }
};

struct Pace {
  std::vector<double> stepSeconds;  // quartiles: first, median, third; empty where no step was timed
  /// Drafter → part of a step in which its stream waited for hidden states, and for the exchange of gradients behind
  /// backward; medians.
  std::map<std::string, double> featureWait, gradientWait;
  std::optional<std::string> bottleneck;  // "target", "exchange", "drafter": what a step's time is decided by
  std::optional<Scaling> scaling;
  bool operator==(const Pace&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("step_seconds", stepSeconds);
    visit("feature_wait", featureWait);
    visit("gradient_wait", gradientWait);
    visit("bottleneck", bottleneck);
    visit("scaling", scaling);
  }
};

/// What the drafters wait for most, "target" (hidden states) or "exchange" (of gradients), where that is more than one
/// percent of a step in their mean; else "drafter": in a pipeline that has filled, only what is slowest does not wait.
/// nullopt where no drafter was timed.
std::optional<std::string> bottleneckOf(const Pace& pace);

/// Of two cases' paces and median tokens/s; nullopt where one of them was not timed.
std::optional<Scaling> scalingOf(const std::string& name, const Pace& base, double baseRate, const Pace& own,
                                 double ownRate);

/// "step 142.1 ms (141.8–142.5); drafter[0] waited for hidden states 0.10 %, for gradients 0.42 %; 1.970 ×
/// (1.960–1.980) of NAME"; "" without a timed step.
std::string paceLine(const Pace& pace);

}  // namespace redraft::reports
