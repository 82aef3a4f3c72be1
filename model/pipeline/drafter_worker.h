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

#include "model/pipeline/feature_feed.h"
#include "model/pipeline/gradient_exchange.h"
#include "model/pipeline/pipeline_shared.h"

namespace redraft::model {

class DrafterWorker {
 public:
  /// On the worker's own thread, its device current.
  DrafterWorker(PipelineShared& shared, int index, const std::optional<RunCheckpoint>& from);

  void run();

 private:
  struct Share {                 // of one step
    std::vector<LossSums> sums;  // of its micro-batches, in order
    RoleSample sample;
  };
  struct Gradient {                   // of the global mean
    std::vector<at::Tensor> vectors;  // a bucket each
    std::vector<HandOff> held;        // their memory
  };

  void trainSteps();
  void step(std::int64_t step);
  Share trainShare(std::int64_t step);
  /// The micro-batch that this drafter trains on next.
  std::optional<MicroBatchRef> following(const std::vector<MicroBatchRef>& refs, std::size_t i,
                                         std::int64_t step) const;
  /// The global sums, and the gradient of the global mean in `gradient`.
  LossSums combine(Share& share, std::int64_t step, Gradient& gradient);
  StepMetrics update(const Gradient& gradient, std::int64_t step);
  void digest(const Gradient& gradient);
  /// The hash of its parameters; empty in a step that does not compare them.
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
  FeatureFeed features_;
  GradientExchange exchange_;
  std::vector<GradientDigest> digests_;  // of the step's gradient; drafter 0, in steps that keep them
  std::chrono::steady_clock::time_point stepBegan_;
};

}  // namespace redraft::model
