#pragma once
// The two models' shapes, read from and written as the field's config.json: Hugging Face's Qwen3 for the target, DFlash
// (architectures ["DFlashDraftModel"]) for the drafter. Every value is range-checked; errors name file, line and key.
// Features that this program does not compute (attention bias, RoPE scaling, dropout, other activations) are refused,
// never ignored. Keys that change no result here (token ids, dtype, versions) are passed over.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace redraft::model {

/// What a Qwen3 decoder needs to know, target and drafter alike.
struct DecoderConfig {
  std::int64_t hiddenSize = 0;
  std::int64_t heads = 0;          // query heads
  std::int64_t keyValueHeads = 0;  // divides heads
  std::int64_t headDim = 0;        // even
  std::int64_t intermediateSize = 0;
  std::int64_t vocabSize = 0;
  std::int64_t layers = 0;
  double rmsNormEps = 1e-6;
  double ropeTheta = 1e4;
  std::int64_t maxPositionEmbeddings = 32768;
};

struct TargetConfig : DecoderConfig {
  bool tieWordEmbeddings = false;
};

struct DrafterConfig : DecoderConfig {
  std::int64_t targetLayers = 0;             // num_target_layers
  std::int64_t blockSize = 0;                // b: the anchor and b - 1 mask tokens
  std::int64_t maskTokenId = 0;              // a row of the target's vocabulary
  std::vector<std::int64_t> targetLayerIds;  // 0-based, in the order of the context feature
  std::vector<bool> slidingLayers;           // one a layer
  std::int64_t slidingWindow = 0;            // W; 0 when no layer slides

  std::int64_t contextWidth() const { return static_cast<std::int64_t>(targetLayerIds.size()) * hiddenSize; }
  bool anySliding() const;
};

/// round(1 + i (n - 4) / (count - 1)) for i < count, half to even; n / 2 for a single one (SpecForge's default).
std::vector<std::int64_t> defaultTargetLayerIds(std::int64_t targetLayers, std::int64_t count);

TargetConfig readTargetConfig(JsonReader reader);
DrafterConfig readDrafterConfig(JsonReader reader);
TargetConfig loadTargetConfig(const std::string& path);
DrafterConfig loadDrafterConfig(const std::string& path);

Json targetConfigJson(const TargetConfig& config);
Json drafterConfigJson(const DrafterConfig& config);

/// Throws Error(kBadInput) at `place` unless the drafter can draft for the target: same hidden size and vocabulary
/// size, the number of target layers as stated, every captured layer within it.
void checkPair(const TargetConfig& target, const DrafterConfig& drafter, const std::string& place);

}  // namespace redraft::model
