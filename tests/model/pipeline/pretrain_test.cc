#include "model/pipeline/pretrain.h"

#include <gtest/gtest.h>

#include "model/pipeline/byte_tokenizer.h"
#include "model/pipeline/gradient_digest.h"

namespace redraft::model {
namespace {

struct Trained {
  std::vector<double> losses;
  std::string hash;
};

Trained trainOn(const std::string& text, std::uint64_t seed) {
  TargetConfig config;
  config.hiddenSize = 32;
  config.heads = 2;
  config.keyValueHeads = 1;
  config.headDim = 16;
  config.intermediateSize = 64;
  config.vocabSize = kByteVocabulary;
  config.layers = 1;
  config.tieWordEmbeddings = true;
  DataOptions data;
  data.sequenceLength = 16;
  data.vocabulary = kByteVocabulary;
  PretrainOptions options;
  options.seed = seed;
  options.steps = 30;
  options.batchSize = 4;
  options.learningRate = {LearningRate::Schedule::kConstant, 1e-2, 0, 30};
  Trained trained;
  trained.hash = hashTensors(pretrainTarget(config, parseDataset(text, "text", data).samples, options,
                                            [&](std::int64_t, double loss) { trained.losses.push_back(loss); }));
  return trained;
}

TEST(PretrainTest, LearnsWhatFollowsWhatAndGivesTheSameBitsTwice) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "abcdefghijklmnop";
  const Trained first = trainOn(text, 1);
  ASSERT_EQ(first.losses.size(), 30u);
  EXPECT_GT(first.losses.front(), 5);  // about log 264: nothing is known yet
  EXPECT_LT(first.losses.back(), 1);
  EXPECT_EQ(trainOn(text, 1).hash, first.hash);
  EXPECT_NE(trainOn(text, 2).hash, first.hash);
}

}  // namespace
}  // namespace redraft::model
