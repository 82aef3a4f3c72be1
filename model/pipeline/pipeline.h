#pragma once
// Drafter training, one thread a device role, in one process or several (ranks, each with some of the drafters and of
// the targets): target workers make context features, a bounded queue
// hands them over in order, drafter workers train one replica each and combine their gradients. Which numbers come out
// depends on the options, the data and the models, never on the number of targets, drafters or processes, the queue's
// depth, or the order in which threads run.

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/drafter.h"
#include "model/objective.h"
#include "model/optimizer.h"
#include "model/pipeline/batch.h"
#include "model/pipeline/collective.h"
#include "model/pipeline/gradient_exchange.h"
#include "model/pipeline/run_checkpoint.h"
#include "model/pipeline/run_monitor.h"
#include "model/pipeline/run_record.h"
#include "model/pipeline/step_metrics.h"
#include "model/target.h"

namespace redraft::model {

struct EvaluationOptions {
  std::vector<std::vector<std::int64_t>> prompts;
  std::int64_t newTokens = 0;
};

struct PipelineOptions {
  // Of all processes.
  std::vector<at::Device> targets;   // one worker each: "target[0]", …
  std::vector<at::Device> drafters;  // "drafter[0]", …
  std::int64_t steps = 1;
  BatchOptions batch;  // blockSize and maskTokenId are taken from the drafter's config
  ObjectiveOptions objective;
  LearningRate learningRate;
  double clip = 0;  // global gradient norm; 0: no clipping
  AdamWOptions adamw;
  at::ScalarType dtype = at::kFloat;
  std::int64_t queueDepth = 1;
  ExchangeOptions exchange;
  // Steps between two that keep gradients' digests (drafter 0), and that compare the replicas' parameters, from the
  // first on, and the last too; 0: never. Both copy every parameter to the host.
  std::int64_t digestEvery = 1;
  std::int64_t compareEvery = 1;
  /// The stream that a role works on, as its own: several may share a device. Called on the role's thread. Empty: on
  /// its device's default stream.
  std::function<c10::Stream(const std::string& role, at::Device device)> ownStream;
  std::int64_t checkpointEvery = 0;  // steps; 0: never
  std::string checkpointFolder;
  std::string configuration;  // what a checkpoint must have been made with
  std::optional<EvaluationOptions> evaluation;
};

/// What a target makes hidden states of.
enum class FeatureSource {
  kLayers,  // its layers
  kTable,  // its embedding's rows, picked by token, position and layer (tableFeature()): of the right size, and no more
};

/// Parameters on the CPU in float32, from which every worker makes its replica.
struct PipelineModels {
  TargetConfig targetConfig;
  FeatureSource source = FeatureSource::kLayers;
  std::vector<at::Tensor> target;  // of storedTarget()
  DrafterConfig drafterConfig;
  std::vector<at::Tensor> drafter;

  /// The part of the target that there is: without layers where they are not the source.
  TargetConfig storedTarget() const;
};

/// Told what happens, on the thread where it happens, with its role, step and phase set. May throw, which fails the
/// run.
class PipelineObserver {
 public:
  virtual ~PipelineObserver() = default;
  virtual void roleBegan(const std::string& role, at::Device device) {}
  /// By every target, before it has begun its part of the step. May wait: then drafters have nothing to do either.
  virtual void targetEnters(std::int64_t step) {}
  virtual void roleEnded(const std::string& role, at::Device device) {}
  /// A role's first own error; not called for roles that only stop because another failed. Must not throw.
  virtual void roleFailed(const std::string& role, const std::exception_ptr& error) noexcept {}
  /// A replica is in place; alive until its role ends.
  virtual void replicaReady(int drafter, const Drafter& replica) {}
  /// `loss`: of the drafter's own micro-batches.
  virtual void drafterStepped(int drafter, std::int64_t step, double loss) {}
  /// By drafter 0. A difference does not end the run: whoever watches decides.
  virtual void replicasCompared(std::int64_t step, bool equal, const std::map<std::string, std::string>& hashes) {}
  virtual void stepDone(const StepMetrics& metrics) {}
};

/// Trains from `from` (or from the start) to the last step, evaluates, and joins all threads. Throws the run's first
/// error, and Error(kBadInput) for options that cannot be run. `monitor` stops the run when somebody outside calls its
/// fail(). With several processes each calls this alike, with its `ranks`: it runs the workers of its own part
/// (micro_batch_plan.h), tells the others when it fails, and fails when another does (RankLost). Rank 0 alone keeps the
/// `record`, saves and evaluates; it is null on the others, which read the same checkpoints.
void runPipeline(const PipelineOptions& options, const PipelineModels& models, const std::vector<Sample>& samples,
                 RunMonitor& monitor, RunRecord* record, PipelineObserver& observer,
                 const std::optional<RunCheckpoint>& from = std::nullopt, Collective* ranks = nullptr);

/// "target[0]"
std::string workerName(const std::string& role, std::size_t index);

}  // namespace redraft::model
