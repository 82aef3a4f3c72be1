#pragma once
// The thread of one target: makes the context features of its micro-batches and pushes them. Internal to the pipeline.

#include <string>
#include <vector>

#include "model/pipeline/pipeline_shared.h"

namespace redraft::model {

/// Stands in for hidden states where a run is to measure the drafter alone: ids int64 [B, S] to [B, S, K · H], for each
/// captured layer a row of `embedding` [V, H], chosen by token, position and layer.
at::Tensor tableFeature(const at::Tensor& ids, const at::Tensor& embedding, const std::vector<std::int64_t>& layerIds);

class TargetWorker {
 public:
  /// On the worker's own thread, its device current.
  TargetWorker(PipelineShared& shared, int index);

  void run();

 private:
  void produce(const MicroBatchRef& ref);
  at::Tensor contextFeature(const at::Tensor& ids) const;

  PipelineShared& shared_;
  const int index_;
  const std::string name_;
  const at::Device device_;
  Target target_;
  double lastWait_ = 0;  // for room behind the last push; reported with the next micro-batch
};

}  // namespace redraft::model
