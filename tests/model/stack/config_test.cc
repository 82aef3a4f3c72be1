#include "model/config.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

DrafterConfig parseDrafter(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "config.json");
  return readDrafterConfig(JsonReader(document));
}

TargetConfig parseTarget(const std::string& text) {
  const JsonDocument document = JsonDocument::parse(text, "config.json");
  return readTargetConfig(JsonReader(document));
}

/// drafterConfigJson() with one key set; "dflash_config/KEY" reaches into the inner object.
std::string drafterTextWith(const std::string& key, const Json& value) {
  Json json = drafterConfigJson(tiny::drafterConfig());
  json[Json::json_pointer("/" + key)] = value;
  return json.dump(1);
}

std::string messageOf(const std::string& text) {
  try {
    parseDrafter(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(ConfigTest, DefaultLayerIdsRoundHalfToEven) {
  EXPECT_EQ(defaultTargetLayerIds(36, 5), (std::vector<std::int64_t>{1, 9, 17, 25, 33}));
  EXPECT_EQ(defaultTargetLayerIds(28, 5), (std::vector<std::int64_t>{1, 7, 13, 19, 25}));
  EXPECT_EQ(defaultTargetLayerIds(64, 5), (std::vector<std::int64_t>{1, 16, 31, 46, 61}));
  // 1 + 3/2 = 2.5 goes to 2, 1 + 5/2 = 3.5 to 4.
  EXPECT_EQ(defaultTargetLayerIds(7, 3), (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(defaultTargetLayerIds(9, 3), (std::vector<std::int64_t>{1, 4, 6}));
  EXPECT_EQ(defaultTargetLayerIds(36, 1), (std::vector<std::int64_t>{18}));
}

TEST(ConfigTest, DrafterConfigSurvivesWritingAndReading) {
  const DrafterConfig before = tiny::drafterConfig();
  const DrafterConfig after = parseDrafter(drafterConfigJson(before).dump());
  EXPECT_EQ(drafterConfigJson(after), drafterConfigJson(before));
  EXPECT_EQ(after.slidingLayers, before.slidingLayers);
  EXPECT_EQ(after.slidingWindow, 6);
}

TEST(ConfigTest, TargetConfigSurvivesWritingAndReading) {
  for (const bool tied : {false, true}) {
    const TargetConfig after = parseTarget(targetConfigJson(tiny::targetConfig(tied)).dump());
    EXPECT_EQ(targetConfigJson(after), targetConfigJson(tiny::targetConfig(tied)));
    EXPECT_EQ(after.tieWordEmbeddings, tied);
  }
}

TEST(ConfigTest, BlockSizeMayLieInTheInnerObject) {
  Json json = drafterConfigJson(tiny::drafterConfig());
  json.erase("block_size");
  json["dflash_config"]["block_size"] = 7;
  EXPECT_EQ(parseDrafter(json.dump()).blockSize, 7);
  json["block_size"] = 8;
  EXPECT_NE(messageOf(json.dump()).find("differs from dflash_config.block_size"), std::string::npos);
}

TEST(ConfigTest, RopeThetaMayLieInRopeParameters) {
  Json json = targetConfigJson(tiny::targetConfig());
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  EXPECT_EQ(parseTarget(json.dump()).ropeTheta, 5e5);
  json["rope_parameters"]["rope_type"] = "yarn";
  EXPECT_THROW(parseTarget(json.dump()), Error);
}

TEST(ConfigTest, LayerTypesFollowFromTheWindowWhenAbsent) {
  Json json = drafterConfigJson(tiny::drafterConfig());
  json.erase("layer_types");
  json["max_window_layers"] = 1;
  EXPECT_EQ(parseDrafter(json.dump()).slidingLayers, (std::vector<bool>{false, true}));
  json["use_sliding_window"] = false;
  EXPECT_EQ(parseDrafter(json.dump()).slidingLayers, (std::vector<bool>{false, false}));
}

TEST(ConfigTest, MissingLayerIdsTakeTheDefault) {
  Json json = drafterConfigJson(tiny::drafterConfig());
  json["dflash_config"].erase("target_layer_ids");
  json["num_target_layers"] = 36;
  EXPECT_EQ(parseDrafter(json.dump()).targetLayerIds, defaultTargetLayerIds(36, 2));
}

TEST(ConfigTest, UnrelatedKeysArePassedOver) {
  EXPECT_EQ(messageOf(drafterTextWith("transformers_version", "4.57.0")), "no error");
  EXPECT_EQ(messageOf(drafterTextWith("auto_map", Json{{"AutoModel", "dflash.DFlashDraftModel"}})), "no error");
}

struct BadValue {
  const char* key;
  Json value;
  const char* says;
};

TEST(ConfigTest, EveryValueIsCheckedWithFileLineAndKey) {
  const std::vector<BadValue> cases = {
      {"hidden_size", 0, "/hidden_size"},
      {"hidden_size", "64", "/hidden_size"},
      {"hidden_size", 9e18, "/hidden_size"},
      {"num_key_value_heads", 3, "does not divide"},
      {"head_dim", 7, "odd"},
      {"vocab_size", -1, "/vocab_size"},
      {"rms_norm_eps", 2.0, "/rms_norm_eps"},
      {"rope_theta", 0.0, "/rope_theta"},
      {"rope_scaling", Json{{"type", "yarn"}}, "/rope_scaling"},
      {"attention_bias", true, "/attention_bias"},
      {"attention_dropout", 0.1, "/attention_dropout"},
      {"hidden_act", "gelu", "/hidden_act"},
      {"partial_rotary_factor", 0.5, "/partial_rotary_factor"},
      {"block_size", 1, "/block_size"},
      {"num_target_layers", 3, "/target_layer_ids"},
      {"layer_types", Json::array({"full_attention"}), "has 1 entries for 2 layers"},
      {"layer_types", Json::array({"full_attention", "linear_attention"}), "linear_attention"},
      {"sliding_window", nullptr, "there is no window"},
      {"sliding_window", 0, "/sliding_window"},
      {"use_sliding_window", false, "there is no window"},
      {"dflash_config/mask_token_id", 67, "/mask_token_id"},
      {"dflash_config/target_layer_ids", Json::array({4}), "/target_layer_ids"},
      {"dflash_config/target_layer_ids", Json::array(), "is empty"},
      {"dflash_config", 3, "/dflash_config"},
  };
  for (const BadValue& bad : cases) {
    const std::string message = messageOf(drafterTextWith(bad.key, bad.value));
    EXPECT_NE(message.find(bad.says), std::string::npos) << bad.key << ": " << message;
    EXPECT_EQ(message.find("config.json:"), 0u) << message;
  }
}

TEST(ConfigTest, TargetWithSlidingLayersIsRefused) {
  Json json = targetConfigJson(tiny::targetConfig());
  json["layer_types"] = Json::array({"full_attention", "full_attention", "full_attention", "sliding_attention"});
  EXPECT_THROW(parseTarget(json.dump()), Error);
}

TEST(ConfigTest, PairMustFit) {
  EXPECT_NO_THROW(checkPair(tiny::targetConfig(), tiny::drafterConfig(), "pair"));
  DrafterConfig other = tiny::drafterConfig();
  other.hiddenSize = 32;
  EXPECT_THROW(checkPair(tiny::targetConfig(), other, "pair"), Error);
  other = tiny::drafterConfig();
  other.targetLayers = 5;
  EXPECT_THROW(checkPair(tiny::targetConfig(), other, "pair"), Error);
}

}  // namespace
}  // namespace redraft::model
