#pragma once
// What the workers of one run share. Internal to the pipeline.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/pipeline/batch.h"
#include "model/pipeline/drafter_gather.h"
#include "model/pipeline/gradient_sum.h"
#include "model/pipeline/hand_off.h"
#include "model/pipeline/micro_batch_plan.h"
#include "model/pipeline/ordered_queue.h"
#include "model/pipeline/pipeline.h"

namespace redraft::model {

/// What a target hands to a drafter.
struct Feature {
  HandOff contextFeature;  // [B, S, K · H]
  BlockPlan plan;          // on the CPU
  std::int64_t tokens = 0;
};

struct PipelineShared {
  PipelineShared(const PipelineOptions& options, const PipelineModels& models, const std::vector<Sample>& samples,
                 RunMonitor& monitor, RunRecord* record, PipelineObserver& observer, std::int64_t firstStep,
                 Collective* ranks);

  const PipelineOptions& options;
  const PipelineModels& models;
  RunMonitor& monitor;
  RunRecord* const record;  // rank 0's
  PipelineObserver& observer;
  const std::int64_t firstStep;
  Collective* const ranks;  // null where there is one process

  const MicroBatchPlan plan;
  const BatchMaker batches;
  OrderedQueue<Feature> queue;
  GradientSum gradients;
  DrafterGather sums;  // LossSums of a drafter's micro-batches, in order
  DrafterGather hashes;
  RoleSamples samples;
};

/// Adds the time of its life to a number of seconds.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace redraft::model
