#pragma once
// The thread of one target: makes the context features of its micro-batches and pushes them. Internal to the pipeline.

#include <string>

#include "model/pipeline/pipeline_shared.h"

namespace redraft::model {

class TargetWorker {
 public:
  /// On the worker's own thread, its device current.
  TargetWorker(PipelineShared& shared, int index);

  void run();

 private:
  void produce(const MicroBatchRef& ref);

  PipelineShared& shared_;
  const int index_;
  const std::string name_;
  const at::Device device_;
  Target target_;
  double lastWait_ = 0;  // for room behind the last push; reported with the next micro-batch
};

}  // namespace redraft::model
