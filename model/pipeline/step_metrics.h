#pragma once
// What a step is judged by.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "model/objective.h"

namespace redraft::model {

struct RoleSample {
  std::int64_t tokens = 0;  // of context
  double busySeconds = 0;
  double waitSeconds = 0;  // for the queue and for the other drafters
  // Of a drafter's stream, by its device's clock: time in which the device had nothing else to do for the step.
  double featureWaitSeconds = 0;   // for hidden states: for the targets, and for the copy
  double gradientWaitSeconds = 0;  // for the exchange, after backward
};

struct StepMetrics {
  std::int64_t step = 0;
  LossSums sums;        // over all micro-batches of all drafters
  double gradNorm = 0;  // of the global mean's gradient, before the clip
  double learningRate = 0;
  std::int64_t tokens = 0;  // of context, without padding
  double seconds = 0;
  std::string parametersHash;  // after the step
  std::map<std::string, RoleSample> roles;
};

/// Samples as text, for another process, and back.
std::string samplesText(const std::map<std::string, RoleSample>& samples);
std::map<std::string, RoleSample> samplesFromText(const std::string& text);

/// Collects what the roles report about each step. Thread-safe.
class RoleSamples {
 public:
  void add(std::int64_t step, const std::string& role, const RoleSample& sample);
  /// What was added for the step; forgets it.
  std::map<std::string, RoleSample> take(std::int64_t step);

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::map<std::string, RoleSample>> steps_;
};

}  // namespace redraft::model
