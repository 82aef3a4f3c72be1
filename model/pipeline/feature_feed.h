#pragma once
// Hidden states on their way to one drafter: taken off the queue and copied to its device on a stream of their own, one
// micro-batch ahead of their use where the targets are ahead. The drafter's stream waits for an event, the drafter's
// thread only where the queue has nothing yet.

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <optional>
#include <string>

#include "model/pipeline/device_stopwatch.h"
#include "model/pipeline/pipeline_shared.h"

namespace redraft::model {

/// What a micro-batch is trained on, on the drafter's device. Keeps the memory while it is in use.
struct ArrivedFeature {
  at::Tensor contextFeature;  // [B, S, K · H]
  BlockPlan plan;
  std::int64_t tokens = 0;
  HandOff held;
};

/// For the drafter's thread, its device and stream current.
class FeatureFeed {
 public:
  FeatureFeed(OrderedQueue<Feature>& queue, std::string role, at::Device device);

  /// Takes the micro-batch off the queue, unless ahead() has, and makes the current stream wait for its copy. Adds the
  /// time that the thread waits for the queue to `sample`.
  ArrivedFeature take(const MicroBatchRef& ref, RoleSample& sample);
  /// Begins the copy of the next micro-batch to be taken, if it is there.
  void ahead(const MicroBatchRef& ref);
  /// How long the drafter's stream waited in take(), from where it had nothing else to do to where the features were
  /// there: for the targets, and for the copy. The caller has waited for the stream.
  double takeWaitSeconds() { return waits_.takeSeconds(); }

 private:
  struct Moving {
    std::int64_t sequence = 0;
    ArrivedFeature feature;
  };

  Moving move(const MicroBatchRef& ref, const Feature& feature) const;

  OrderedQueue<Feature>& queue_;
  const std::string role_;
  const at::Device device_;
  std::optional<c10::Stream> stream_;  // of the copies; none on the CPU
  std::optional<Moving> next_;
  DeviceStopwatch waits_;
};

}  // namespace redraft::model
