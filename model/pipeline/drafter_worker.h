#pragma once
// The thread of one drafter: trains its replica on its share of each step, combines gradients with the others, and
// takes the same optimizer step as they do. Drafter 0
// also keeps the run's record, saves, and evaluates. Internal to
// the pipeline.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/pipeline/pipeline_shared.h"

namespace redraft::model {

class DrafterWorker {
 public:
  /// On the worker's own thread, its device current.
  DrafterWorker(PipelineShared& shared, int index, const std::optional<RunCheckpoint>& from);

  void run();

 private:
  struct Share {  // of one step
    std::vector<GradientTree::Node> nodes;
    std::vector<LossSums> sums;  // of its micro-batches, in order
    RoleSample sample;
  };

  void step(std::int64_t step);
  Share trainShare(std::int64_t step);
  Feature takeFeature(const MicroBatchRef& ref, RoleSample& sample);
  /// The global sums, and the gradient of the global mean in `gradient`.
  LossSums combine(Share& share, std::int64_t step, at::Tensor& gradient);
  StepMetrics update(const at::Tensor& gradient, std::int64_t step);
  std::string compareReplicas(std::int64_t step);
  /// What all roles of the run report about the step; called by the first drafter of each process.
  std::map<std::string, RoleSample> gatherSamples(std::int64_t step);
  void record(StepMetrics metrics);
  void evaluate();

  PipelineShared& shared_;
  const int index_;
  const int member_;  // of this process's drafters
  const std::string name_;
  const at::Device device_;
  Drafter drafter_;
  AdamW optimizer_;
  TargetHead head_;
  FlatLayout layout_;
  std::vector<GradientDigest> digests_;  // of the step's gradient; drafter 0
  std::chrono::steady_clock::time_point stepBegan_;
};

}  // namespace redraft::model
