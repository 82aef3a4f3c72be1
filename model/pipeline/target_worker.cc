#include "model/pipeline/target_worker.h"

#include <ATen/ATen.h>

#include <utility>

#include "model/device_copy.h"
#include "model/instrument.h"
#include "model/role.h"

namespace redraft::model {

namespace {

std::vector<at::Tensor> frozenReplica(const std::vector<at::Tensor>& parameters, at::ScalarType dtype,
                                      at::Device device) {
  std::vector<at::Tensor> replica;
  replica.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) replica.push_back(parameter.detach().to(dtype).to(device));
  return replica;
}

}  // namespace

at::Tensor tableFeature(const at::Tensor& ids, const at::Tensor& embedding, const std::vector<std::int64_t>& layerIds) {
  // Odd numbers, so that neighbours in token, position and layer get rows far apart.
  constexpr std::int64_t kByPosition = 7919, kByLayer = 104729;
  const at::Tensor positions = consecutivePositions(ids.size(0), 0, ids.size(1), ids.device());
  const at::Tensor first = ids + positions * kByPosition;
  std::vector<at::Tensor> states;
  for (const std::int64_t layer : layerIds)
    states.push_back(at::embedding(embedding, at::remainder(first + (layer + 1) * kByLayer, embedding.size(0))));
  return at::cat(states, -1);
}

TargetWorker::TargetWorker(PipelineShared& shared, int index)
    : shared_(shared),
      index_(index),
      name_(workerName("target", static_cast<std::size_t>(index))),
      device_(shared.options.targets[static_cast<std::size_t>(index)]),
      target_(shared.models.storedTarget(), frozenReplica(shared.models.target, shared.options.dtype, device_)) {}

void TargetWorker::run() {
  for (std::int64_t step = shared_.firstStep; step < shared_.options.steps; ++step) {
    const StepScope scope(step);
    shared_.observer.targetEnters(step);
    for (const MicroBatchRef& ref : shared_.plan.ofTarget(index_, step)) produce(ref);
  }
}

at::Tensor TargetWorker::contextFeature(const at::Tensor& ids) const {
  const std::vector<std::int64_t>& layerIds = shared_.models.drafterConfig.targetLayerIds;
  if (shared_.models.source == FeatureSource::kTable) return tableFeature(ids, target_.head().embedding, layerIds);
  return target_.contextFeature(ids, layerIds);
}

void TargetWorker::produce(const MicroBatchRef& ref) {
  shared_.monitor.checkpoint();
  RoleSample sample;
  sample.waitSeconds = lastWait_;
  Feature feature;
  {
    const Stopwatch busy(sample.busySeconds);
    Batch batch;
    {
      const PhaseScope phase(devices::Phase::kData);
      batch = shared_.batches.batch(ref);
      feature.plan = shared_.batches.plan(ref, batch);
      feature.tokens = batch.tokens;
    }
    const PhaseScope phase(devices::Phase::kTargetForward);
    feature.contextFeature = HandOff({contextFeature(upload(batch.ids, device_))});
  }
  sample.tokens = feature.tokens;
  shared_.samples.add(ref.step, name_, sample);
  instrument().syncPoint(SyncPoint::kQueuePush, ref.sequence);
  lastWait_ = 0;
  const Stopwatch waiting(lastWait_);
  shared_.queue.push(ref.sequence, std::move(feature), name_);
}

}  // namespace redraft::model
