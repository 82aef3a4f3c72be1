#pragma once
// A training run small enough to be made many times in a test: simulated devices, random target, random drafter.

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "model/pipeline/pipeline.h"

namespace redraft::model {

struct TinyTraining {
  int targets = 1;
  int drafters = 1;
  int processes = 1;  // played by threads
  std::int64_t microBatches = 4;
  std::int64_t batchSize = 1;
  std::int64_t queueDepth = 4;
  std::int64_t steps = 3;
  std::int64_t chunkBlocks = 0;
  ExchangeOptions exchange;
  std::int64_t digestEvery = 1;
  std::int64_t compareEvery = 1;
  FeatureSource source = FeatureSource::kLayers;
  std::int64_t checkpointEvery = 0;
  std::string checkpointFolder;
  at::ScalarType dtype = at::kFloat;
};

/// What a run came to, step by step.
struct TinyOutcome {
  std::vector<StepMetrics> steps;
  bool replicasEqual = true;

  /// Everything that must not depend on how the run was laid out, with every bit.
  std::vector<std::string> bits() const;
};

/// `intervene` is called after each step, on drafter 0's thread, and may throw.
TinyOutcome train(const TinyTraining& training, const std::string& folder,
                  const std::function<void(const StepMetrics&)>& intervene = nullptr, bool resume = false);

/// Parameters of the run's drafter, in the order in which one backward of its training makes their gradients.
std::vector<std::size_t> gradientsAsMade();
DrafterConfig tinyDrafterConfig();

/// Device `index` of eight simulated ones; registers the backend at the first call.
at::Device tinyDevice(int index);
/// One of the device's streams that is not its default one.
c10::Stream poolStream(at::Device device);

}  // namespace redraft::model
