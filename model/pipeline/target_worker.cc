#include "model/pipeline/target_worker.h"

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

TargetWorker::TargetWorker(PipelineShared& shared, int index)
    : shared_(shared),
      index_(index),
      name_(workerName("target", static_cast<std::size_t>(index))),
      device_(shared.options.targets[static_cast<std::size_t>(index)]),
      target_(shared.models.targetConfig, frozenReplica(shared.models.target, shared.options.dtype, device_)) {}

void TargetWorker::run() {
  for (std::int64_t step = shared_.firstStep; step < shared_.options.steps; ++step) {
    const StepScope scope(step);
    for (const MicroBatchRef& ref : shared_.plan.ofTarget(index_, step)) produce(ref);
  }
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
    feature.contextFeature =
        HandOff({target_.contextFeature(upload(batch.ids, device_), shared_.models.drafterConfig.targetLayerIds)});
  }
  sample.tokens = feature.tokens;
  shared_.samples.add(ref.step, name_, sample);
  instrument().syncPoint(SyncPoint::kQueuePush, ref.sequence);
  lastWait_ = 0;
  const Stopwatch waiting(lastWait_);
  shared_.queue.push(ref.sequence, std::move(feature), name_);
}

}  // namespace redraft::model
