#include "model/pipeline/step_metrics.h"

namespace redraft::model {

void RoleSamples::add(std::int64_t step, const std::string& role, const RoleSample& sample) {
  const std::lock_guard<std::mutex> guard(mutex_);
  RoleSample& sum = steps_[step][role];
  sum.tokens += sample.tokens;
  sum.busySeconds += sample.busySeconds;
  sum.waitSeconds += sample.waitSeconds;
}

std::map<std::string, RoleSample> RoleSamples::take(std::int64_t step) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = steps_.find(step);
  if (found == steps_.end()) return {};
  std::map<std::string, RoleSample> samples = std::move(found->second);
  steps_.erase(found);
  return samples;
}

}  // namespace redraft::model
