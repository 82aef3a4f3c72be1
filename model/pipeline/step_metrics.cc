#include "model/pipeline/step_metrics.h"

#include "base/json.h"

namespace redraft::model {

std::string samplesText(const std::map<std::string, RoleSample>& samples) {
  Json roles = Json::object();
  for (const auto& [role, sample] : samples) {
    roles[role] = {sample.tokens, sample.busySeconds, sample.waitSeconds, sample.featureWaitSeconds,
                   sample.gradientWaitSeconds};
  }
  return roles.dump();
}

std::map<std::string, RoleSample> samplesFromText(const std::string& text) {
  std::map<std::string, RoleSample> samples;
  const Json roles = Json::parse(text);
  for (const auto& [role, sample] : roles.items())
    samples[role] = {sample.at(0).get<std::int64_t>(), sample.at(1).get<double>(), sample.at(2).get<double>(),
                     sample.at(3).get<double>(), sample.at(4).get<double>()};
  return samples;
}

void RoleSamples::add(std::int64_t step, const std::string& role, const RoleSample& sample) {
  const std::lock_guard<std::mutex> guard(mutex_);
  RoleSample& sum = steps_[step][role];
  sum.tokens += sample.tokens;
  sum.busySeconds += sample.busySeconds;
  sum.waitSeconds += sample.waitSeconds;
  sum.featureWaitSeconds += sample.featureWaitSeconds;
  sum.gradientWaitSeconds += sample.gradientWaitSeconds;
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
