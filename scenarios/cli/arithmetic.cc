#include "scenarios/cli/arithmetic.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "model/config.h"

namespace redraft::scenarios {
namespace {

// Roundings to bfloat16 that each of q, k, v, output and their four gradients stands for at most: its own, and one of
// weights, or of the scores' gradients, whose products with it err alike.
constexpr std::int64_t kAttentionRoundings = 2;
// A whole layer in it, forward and twice in backward: norm, q, k, v, their two norms and two rotations, weights,
// attention, o, sum; norm, gate, up, product, down, sum.
constexpr std::int64_t kLayerRoundings = 3 * 18;

model::TargetConfig targetConfigOf(const Scenario& scenario, const std::string& folder) {
  if (scenario.target.checkpoint.empty()) {
    const JsonDocument config = JsonDocument::parse(scenario.target.config.dump(), "target.config");
    return model::readTargetConfig(JsonReader(config));
  }
  const std::filesystem::path path = joinPath(folder, scenario.target.checkpoint);
  return model::loadTargetConfig(((is_directory(path) ? path : path.parent_path()) / "config.json").string());
}

/// Terms of the longest sum of a step: over a product's inner dimension, over the vocabulary, over the keys that a
/// query sees, or, in the gradient of a matrix, over all rows of the step.
std::int64_t longestSum(const Scenario& scenario, const model::DrafterConfig& drafter,
                        const model::TargetConfig& target) {
  const TrainingSpec& training = scenario.training;
  const std::int64_t sequences = std::int64_t{training.microBatches} * training.batchSize;
  const std::int64_t draftRows = sequences * training.anchors * drafter.blockSize;
  const std::int64_t contextRows = sequences * scenario.data.sequenceLength;
  const std::int64_t keys = scenario.data.sequenceLength + drafter.blockSize;
  return std::max({drafter.contextWidth(), drafter.heads * drafter.headDim, drafter.intermediateSize, drafter.vocabSize,
                   target.heads * target.headDim, target.intermediateSize, keys, draftRows, contextRows});
}

bool inBfloat16(const Scenario& scenario) { return scenario.training.dtype == "bfloat16"; }

/// Whose compiled attention takes bfloat16 alone.
bool roundsInAttention(const Scenario& scenario) {
  return !inBfloat16(scenario) && scenario.backend == "cuda" && scenario.kernelCache.compiled;
}

}  // namespace

std::optional<golden::Arithmetic> arithmeticOf(const Scenario& scenario, const std::string& folder) {
  if (scenario.workload != "training") return std::nullopt;
  try {
    const JsonDocument config = JsonDocument::parse(scenario.drafter.dump(), "drafter");
    const model::DrafterConfig drafter = model::readDrafterConfig(JsonReader(config));
    golden::Arithmetic arithmetic;
    arithmetic.reductionLength = longestSum(scenario, drafter, targetConfigOf(scenario, folder));
    arithmetic.bfloat16Roundings = inBfloat16(scenario) ? kLayerRoundings : 0;
    arithmetic.attentionRoundings = roundsInAttention(scenario) ? kAttentionRoundings : 0;
    arithmetic.blockSize = drafter.blockSize;
    arithmetic.blocks =
        std::int64_t{scenario.training.microBatches} * scenario.training.batchSize * scenario.training.anchors;
    arithmetic.predictions = arithmetic.blocks * (drafter.blockSize - 1);
    return arithmetic;
  } catch (const Error&) {
    return std::nullopt;  // the runner says what is wrong with it
  }
}

std::vector<std::string> perturbedUnits(const Scenario& scenario) {
  if (inBfloat16(scenario)) return {golden::kBfloat16Unit};
  if (!scenario.kernelCache.compiled) return {golden::kFloat32Unit};
  return {golden::kFloat32Unit, golden::kAttentionUnit};
}

}  // namespace redraft::scenarios
