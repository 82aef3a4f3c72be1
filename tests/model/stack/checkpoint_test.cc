#include "model/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/philox.h"
#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "redraft_checkpoint_" + info->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void save(const std::vector<ParameterSpec>& specs, const std::vector<at::Tensor>& tensors,
            std::size_t shard = std::size_t{1} << 30) {
    saveCheckpoint(folder_, drafterConfigJson(tiny::drafterConfig()), specs, tensors, shard);
  }

  /// What loading the saved drafter says after `change` to its list of tensors.
  std::string messageAfter(const std::function<void(std::vector<ParameterSpec>&, std::vector<at::Tensor>&)>& change) {
    std::vector<ParameterSpec> specs = drafterParameters(tiny::drafterConfig());
    std::vector<at::Tensor> tensors = randomParameters(specs, 1, 0.1);
    change(specs, tensors);
    save(specs, tensors);
    try {
      Drafter::load(folder_, at::kFloat, at::kCPU);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "no error";
  }

  std::string folder_;
};

void expectSame(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i].detach(), b[i].detach())) << i;
}

TEST_F(CheckpointTest, DrafterHasElevenTensorsALayerAndThree) {
  DrafterConfig config = tiny::drafterConfig();
  config.layers = 5;
  const std::vector<ParameterSpec> specs = drafterParameters(config);
  ASSERT_EQ(specs.size(), 58u);
  EXPECT_EQ(specs[0].name, "fc.weight");
  EXPECT_EQ(specs[0].shape, (std::vector<std::int64_t>{24, 48}));
  EXPECT_EQ(specs[57].name, "layers.4.post_attention_layernorm.weight");
}

TEST_F(CheckpointTest, SizesAreThoseOfThePublishedDrafters) {
  DrafterConfig config;
  config.layers = 5;
  config.headDim = 128;
  config.heads = 32;
  config.keyValueHeads = 8;
  config.targetLayerIds = {1, 9, 17, 25, 33};
  const auto count = [&config](std::int64_t hidden, std::int64_t intermediate) {
    config.hiddenSize = hidden;
    config.intermediateSize = intermediate;
    std::int64_t total = 0;
    for (const ParameterSpec& spec : drafterParameters(config)) {
      std::int64_t elements = 1;
      for (const std::int64_t size : spec.shape) elements *= size;
      total += elements;
    }
    return total;
  };
  EXPECT_EQ(count(2560, 9728), 537427200);    // Qwen3-4B
  EXPECT_EQ(count(4096, 12288), 1048626432);  // Qwen3-8B
}

TEST(RandomParametersTest, NumbersAreThoseOfOneStreamHoweverManyDrewThem) {
  constexpr std::int64_t kRows = 1025, kColumns = 2049;  // two stretches and a bit, of an odd count
  const std::vector<ParameterSpec> specs = {{"a", {4, 4}}, {"norm", {7}}, {"b", {kRows, kColumns}}};
  const std::vector<at::Tensor> parameters = randomParameters(specs, 9, 0.5);
  EXPECT_TRUE(parameters[1].equal(at::ones({7})));
  CounterRng rng(9, "parameters", 2);
  const float* values = parameters[2].const_data_ptr<float>();
  for (std::int64_t k = 0; k < kRows * kColumns; ++k) ASSERT_EQ(values[k], rng.normal() * 0.5f) << k;
}

TEST_F(CheckpointTest, SavedDrafterLoadsBitForBit) {
  const Drafter before = tiny::drafter(3);
  saveCheckpoint(folder_, drafterConfigJson(before.config()), drafterParameters(before.config()), before.parameters());
  expectSame(Drafter::load(folder_, at::kFloat, at::kCPU).parameters(), before.parameters());
}

TEST_F(CheckpointTest, ShardedBfloat16TargetLoadsBitForBit) {
  const Target before = tiny::target(4, at::kBFloat16);
  const auto specs = targetParameters(before.config());
  saveCheckpoint(folder_, targetConfigJson(before.config()), specs, before.parameters(), 4096);
  EXPECT_TRUE(fileExists(joinPath(folder_, "model.safetensors.index.json")));
  expectSame(Target::load(folder_, at::kBFloat16, at::kCPU).parameters(), before.parameters());
}

TEST_F(CheckpointTest, TiedTargetTakesAnEqualHeadAndRefusesAnother) {
  const TargetConfig config = tiny::targetConfig(true);
  std::vector<ParameterSpec> specs = targetParameters(config);
  std::vector<at::Tensor> tensors = randomParameters(specs, 5, 0.1);
  specs.push_back({"lm_head.weight", {config.vocabSize, config.hiddenSize}});
  tensors.push_back(tensors.front().clone());
  saveCheckpoint(folder_, targetConfigJson(config), specs, tensors);
  const Target target = Target::load(folder_, at::kFloat, at::kCPU);
  EXPECT_TRUE(target.head().output.is_same(target.head().embedding));
  tensors.back()[3][4] += 0.5;
  saveCheckpoint(folder_, targetConfigJson(config), specs, tensors);
  EXPECT_THROW(Target::load(folder_, at::kFloat, at::kCPU), Error);
}

TEST_F(CheckpointTest, MissingTensorIsNamed) {
  const std::string message = messageAfter([](auto& specs, auto& tensors) {
    specs.erase(specs.begin() + 4);
    tensors.erase(tensors.begin() + 4);
  });
  EXPECT_NE(message.find("missing: layers.0.self_attn.k_proj.weight [16, 24]"), std::string::npos) << message;
}

TEST_F(CheckpointTest, UnknownTensorIsNamedWithItsNearest) {
  const std::string message = messageAfter([](auto& specs, auto& tensors) {
    specs.push_back({"layers.0.self_attn.q_porj.weight", {24, 24}});
    tensors.push_back(at::zeros({24, 24}));
  });
  EXPECT_NE(message.find("unknown: layers.0.self_attn.q_porj.weight (near layers.0.self_attn.q_proj.weight)"),
            std::string::npos)
      << message;
}

TEST_F(CheckpointTest, WrongShapeAndDtypeAreNamedTogether) {
  const std::string message = messageAfter([](auto& specs, auto& tensors) {
    tensors[0] = at::zeros({48, 24});
    tensors[1] = at::zeros({24}, at::kLong);
  });
  EXPECT_NE(message.find("fc.weight has shape [48, 24], expected [24, 48]"), std::string::npos) << message;
  EXPECT_NE(message.find("hidden_norm.weight has dtype I64"), std::string::npos) << message;
}

TEST_F(CheckpointTest, NumberThatIsNotFiniteIsNamed) {
  const std::string message =
      messageAfter([](auto& specs, auto& tensors) { tensors[2][0] = std::numeric_limits<float>::quiet_NaN(); });
  EXPECT_NE(message.find("norm.weight: holds numbers that are not finite"), std::string::npos) << message;
}

TEST_F(CheckpointTest, WholeOtherModelGivesAShortList) {
  const TargetConfig config = tiny::targetConfig();
  const auto specs = targetParameters(config);
  saveCheckpoint(folder_, drafterConfigJson(tiny::drafterConfig()), specs, randomParameters(specs, 1, 0.1));
  try {
    Drafter::load(folder_, at::kFloat, at::kCPU);
    FAIL() << "loaded a target as a drafter";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("more"), std::string::npos);
    EXPECT_LT(std::string(error.what()).size(), 2000u);
  }
}

TEST_F(CheckpointTest, AbsentFolderIsBadInput) {
  EXPECT_THROW(Target::load(folder_ + "_absent", at::kFloat, at::kCPU), Error);
}

TEST_F(CheckpointTest, RandomParametersDependOnSeedAndPlaceAlone) {
  const auto specs = drafterParameters(tiny::drafterConfig());
  expectSame(randomParameters(specs, 9, 0.1), randomParameters(specs, 9, 0.1));
  EXPECT_FALSE(at::equal(randomParameters(specs, 9, 0.1)[0], randomParameters(specs, 10, 0.1)[0]));
  EXPECT_TRUE(at::equal(randomParameters(specs, 9, 0.1)[1], at::ones({24})));
}

}  // namespace
}  // namespace redraft::model
