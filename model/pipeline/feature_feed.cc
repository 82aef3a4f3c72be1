#include "model/pipeline/feature_feed.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>
#include <vector>

#include "model/instrument.h"
#include "model/role.h"

namespace redraft::model {

FeatureFeed::FeatureFeed(OrderedQueue<Feature>& queue, std::string role, at::Device device)
    : queue_(queue), role_(std::move(role)), device_(device), waits_(device) {
  if (device.is_cpu()) return;
  stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

ArrivedFeature FeatureFeed::take(const MicroBatchRef& ref, RoleSample& sample) {
  instrument().syncPoint(SyncPoint::kQueuePop, ref.sequence);
  waits_.begin();
  if (!next_) {
    Feature feature;
    {
      const Stopwatch waiting(sample.waitSeconds);
      feature = queue_.pop(ref.sequence, role_);
    }
    next_ = move(ref, feature);
  }
  REDRAFT_CHECK(next_->sequence == ref.sequence, "features are taken in the order in which they were asked for");
  ArrivedFeature arrived = std::move(next_->feature);
  next_.reset();
  arrived.held.acquire(device_);
  waits_.end();
  return arrived;
}

void FeatureFeed::ahead(const MicroBatchRef& ref) {
  if (next_) return;
  if (std::optional<Feature> feature = queue_.tryPop(ref.sequence)) next_ = move(ref, *feature);
}

FeatureFeed::Moving FeatureFeed::move(const MicroBatchRef& ref, const Feature& feature) const {
  const StepScope step(ref.step);
  const PhaseScope phase(devices::Phase::kHandOff);
  c10::OptionalStreamGuard copying;
  if (stream_) copying.reset_stream(*stream_);
  Moving moving;
  moving.sequence = ref.sequence;
  moving.feature.contextFeature = feature.contextFeature.receive(device_).front();
  moving.feature.plan = feature.plan.to(device_);
  moving.feature.tokens = feature.tokens;
  std::vector<at::Tensor> all = moving.feature.plan.tensors();
  all.push_back(moving.feature.contextFeature);
  moving.feature.held = HandOff(std::move(all));
  return moving;
}

}  // namespace redraft::model
