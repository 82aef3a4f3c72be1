#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace redraft::model {

namespace {

constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxVocabulary = 1 << 24;
constexpr std::int64_t kMaxLength = 1 << 24;

bool given(JsonReader& reader, const std::string& key) { return reader.has(key) && !reader.value(key).is_null(); }

/// Refuses `key` unless it is absent, null, or as this program computes.
void refuseUnless(bool right, JsonReader& reader, const std::string& key, const std::string& supported) {
  if (!right) reader.fail(key, "is not supported", "This program computes " + supported + ".");
}

double readRopeTheta(JsonReader& reader) {
  if (given(reader, "rope_scaling")) reader.fail("rope_scaling", "is not supported", "Leave it out or set it to null.");
  if (!given(reader, "rope_parameters")) return reader.number("rope_theta", 1.0, 1e12, 1e4);
  // Newer transformers nest it: {"rope_type": "default", "rope_theta": 1e6}.
  JsonReader rope = reader.object("rope_parameters");
  refuseUnless(rope.string("rope_type", "default") == "default", rope, "rope_type", "\"default\" RoPE alone");
  return rope.number("rope_theta", 1.0, 1e12, 1e4);
}

void readDecoder(JsonReader& reader, DecoderConfig& config) {
  config.hiddenSize = reader.integer("hidden_size", 1, kMaxWidth);
  config.heads = reader.integer("num_attention_heads", 1, 4096);
  config.keyValueHeads = reader.integer("num_key_value_heads", 1, 4096, config.heads);
  config.headDim = reader.integer("head_dim", 2, 1024, 128);
  config.intermediateSize = reader.integer("intermediate_size", 1, kMaxWidth);
  config.vocabSize = reader.integer("vocab_size", 1, kMaxVocabulary);
  config.layers = reader.integer("num_hidden_layers", 1, kMaxLayers);
  config.rmsNormEps = reader.number("rms_norm_eps", 0.0, 1.0, 1e-6);
  config.ropeTheta = readRopeTheta(reader);
  config.maxPositionEmbeddings = reader.integer("max_position_embeddings", 1, kMaxLength, 32768);
  if (config.heads % config.keyValueHeads != 0)
    reader.fail("num_key_value_heads", "does not divide num_attention_heads (" + std::to_string(config.heads) + ")");
  if (config.headDim % 2 != 0) reader.fail("head_dim", "is odd", "RoPE rotates the two halves of a head.");
  refuseUnless(!reader.boolean("attention_bias", false), reader, "attention_bias", "projections without bias");
  refuseUnless(reader.number("attention_dropout", 0.0, 1.0, 0.0) == 0.0, reader, "attention_dropout", "no dropout");
  refuseUnless(reader.string("hidden_act", "silu") == "silu", reader, "hidden_act", "\"silu\"");
  refuseUnless(reader.number("partial_rotary_factor", 0.0, 1.0, 1.0) == 1.0, reader, "partial_rotary_factor",
               "RoPE over the whole head");
}

std::vector<bool> readLayerTypes(JsonReader& reader, std::int64_t layers) {
  const std::vector<std::string> names = reader.strings("layer_types");
  if (static_cast<std::int64_t>(names.size()) != layers) {
    reader.fail("layer_types",
                "has " + std::to_string(names.size()) + " entries for " + std::to_string(layers) + " layers");
  }
  std::vector<bool> sliding;
  for (const std::string& name : names) {
    if (name != "full_attention" && name != "sliding_attention")
      reader.fail("layer_types", "\"" + name + "\" is neither \"full_attention\" nor \"sliding_attention\"");
    sliding.push_back(name == "sliding_attention");
  }
  return sliding;
}

/// Fills slidingLayers and slidingWindow. Without layer_types, transformers' rule: layers from max_window_layers on
/// slide.
void readSliding(JsonReader& reader, DrafterConfig& config) {
  const bool hasWindow = given(reader, "sliding_window");
  const std::int64_t window = hasWindow ? reader.integer("sliding_window", 1, kMaxLength) : 0;
  const bool enabled = reader.boolean("use_sliding_window", hasWindow) && hasWindow;
  const std::int64_t firstSliding = reader.integer("max_window_layers", 0, kMaxLength, config.layers);
  if (given(reader, "layer_types")) {
    config.slidingLayers = readLayerTypes(reader, config.layers);
  } else {
    for (std::int64_t i = 0; i < config.layers; ++i) config.slidingLayers.push_back(enabled && i >= firstSliding);
  }
  if (!config.anySliding()) return;
  if (!enabled) {
    reader.fail("layer_types", "names a sliding layer, but there is no window",
                "Set \"use_sliding_window\": true and \"sliding_window\" to the window's width.");
  }
  config.slidingWindow = window;
}

std::int64_t readBlockSize(JsonReader& reader, JsonReader& flash) {
  const bool inner = given(flash, "block_size");
  const bool outer = given(reader, "block_size");
  if (!inner) return reader.integer("block_size", 2, 1024);
  const std::int64_t size = flash.integer("block_size", 2, 1024);
  if (outer && reader.integer("block_size", 2, 1024) != size)
    reader.fail("block_size", "differs from dflash_config.block_size (" + std::to_string(size) + ")");
  return size;
}

Json decoderJson(const DecoderConfig& config) {
  return Json{{"hidden_size", config.hiddenSize},
              {"num_attention_heads", config.heads},
              {"num_key_value_heads", config.keyValueHeads},
              {"head_dim", config.headDim},
              {"intermediate_size", config.intermediateSize},
              {"vocab_size", config.vocabSize},
              {"num_hidden_layers", config.layers},
              {"rms_norm_eps", config.rmsNormEps},
              {"rope_theta", config.ropeTheta},
              {"max_position_embeddings", config.maxPositionEmbeddings},
              {"attention_bias", false},
              {"attention_dropout", 0.0},
              {"hidden_act", "silu"}};
}

}  // namespace

bool DrafterConfig::anySliding() const {
  return std::find(slidingLayers.begin(), slidingLayers.end(), true) != slidingLayers.end();
}

std::vector<std::int64_t> defaultTargetLayerIds(std::int64_t targetLayers, std::int64_t count) {
  if (count == 1) return {targetLayers / 2};
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    const double exact = 1.0 + static_cast<double>(i * (targetLayers - 4)) / static_cast<double>(count - 1);
    ids.push_back(static_cast<std::int64_t>(std::nearbyint(exact)));
  }
  return ids;
}

TargetConfig readTargetConfig(JsonReader reader) {
  TargetConfig config;
  readDecoder(reader, config);
  config.tieWordEmbeddings = reader.boolean("tie_word_embeddings", false);
  refuseUnless(!reader.boolean("use_sliding_window", false), reader, "use_sliding_window",
               "a target with full attention in every layer");
  if (given(reader, "layer_types")) {
    const std::vector<bool> sliding = readLayerTypes(reader, config.layers);
    refuseUnless(std::find(sliding.begin(), sliding.end(), true) == sliding.end(), reader, "layer_types",
                 "a target with full attention in every layer");
  }
  return config;
}

DrafterConfig readDrafterConfig(JsonReader reader) {
  DrafterConfig config;
  readDecoder(reader, config);
  config.targetLayers = reader.integer("num_target_layers", 1, kMaxLayers);
  readSliding(reader, config);
  JsonReader flash = reader.object("dflash_config");
  config.blockSize = readBlockSize(reader, flash);
  config.maskTokenId = flash.integer("mask_token_id", 0, config.vocabSize - 1);
  if (given(flash, "target_layer_ids")) {
    config.targetLayerIds = flash.integers("target_layer_ids", 0, config.targetLayers - 1);
    if (config.targetLayerIds.empty()) flash.fail("target_layer_ids", "is empty", "Name at least one target layer.");
    if (config.targetLayerIds.size() > kMaxLayers) flash.fail("target_layer_ids", "has more than 1024 entries");
  } else {
    if (config.targetLayers < 4) {
      flash.fail("target_layer_ids", "is missing, and its default needs a target of at least 4 layers",
                 "Name the captured layers.");
    }
    config.targetLayerIds = defaultTargetLayerIds(config.targetLayers, config.layers);
  }
  return config;
}

TargetConfig loadTargetConfig(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  return readTargetConfig(JsonReader(document));
}

DrafterConfig loadDrafterConfig(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  return readDrafterConfig(JsonReader(document));
}

Json targetConfigJson(const TargetConfig& config) {
  Json json = decoderJson(config);
  json["architectures"] = Json::array({"Qwen3ForCausalLM"});
  json["model_type"] = "qwen3";
  json["tie_word_embeddings"] = config.tieWordEmbeddings;
  json["use_sliding_window"] = false;
  json["sliding_window"] = nullptr;
  return json;
}

Json drafterConfigJson(const DrafterConfig& config) {
  Json json = decoderJson(config);
  json["architectures"] = Json::array({"DFlashDraftModel"});
  json["model_type"] = "qwen3";
  json["tie_word_embeddings"] = false;
  json["num_target_layers"] = config.targetLayers;
  json["block_size"] = config.blockSize;
  Json types = Json::array();
  for (const bool sliding : config.slidingLayers) types.push_back(sliding ? "sliding_attention" : "full_attention");
  json["layer_types"] = types;
  json["use_sliding_window"] = config.anySliding();
  json["sliding_window"] = config.anySliding() ? Json(config.slidingWindow) : Json(nullptr);
  json["max_window_layers"] = config.layers;
  json["dflash_config"] = {{"mask_token_id", config.maskTokenId}, {"target_layer_ids", config.targetLayerIds}};
  return json;
}

void checkPair(const TargetConfig& target, const DrafterConfig& drafter, const std::string& place) {
  const auto require = [&place](std::int64_t mine, std::int64_t theirs, const std::string& key) {
    if (mine == theirs) return;
    throwBadInput(
        place, "the drafter's " + key + " is " + std::to_string(mine) + ", the target's is " + std::to_string(theirs),
        "Take a drafter that was made for this target.");
  };
  require(drafter.hiddenSize, target.hiddenSize, "hidden_size");
  require(drafter.vocabSize, target.vocabSize, "vocab_size");
  require(drafter.targetLayers, target.layers, "num_target_layers");
}

}  // namespace redraft::model
