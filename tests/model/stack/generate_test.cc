#include "model/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "model/optimizer.h"
#include "model/train_step.h"
#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

std::vector<std::int64_t> prompt(std::uint64_t seed, std::int64_t length = 9) {
  const at::Tensor ids = tiny::randomIds(1, length, seed);
  return {ids.const_data_ptr<std::int64_t>(), ids.const_data_ptr<std::int64_t>() + length};
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(GenerateTest, SpeculationGivesTheGreedyTextWhateverTheDrafter) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Target target = tiny::target(100 + seed);
    const Drafter drafter = tiny::drafter(200 + seed);
    GenerateOptions options;
    options.maxNewTokens = 23;
    const Generation greedy = generateGreedy(target, prompt(seed), options);
    EXPECT_EQ(greedy.tokens.size(), 9u + 23u);
    for (const DraftMasking masking : {DraftMasking::kAsTrained, DraftMasking::kAsSpecForge}) {
      options.masking = masking;
      const Generation drafted = generateSpeculative(target, drafter, prompt(seed), options);
      EXPECT_EQ(drafted.tokens, greedy.tokens) << seed;
      EXPECT_GE(sum(drafted.acceptLengths), 23);
      EXPECT_LT(sum(drafted.acceptLengths) - drafted.acceptLengths.back(), 23);
      for (const std::int64_t length : drafted.acceptLengths) EXPECT_TRUE(length >= 1 && length <= 5) << length;
    }
  }
}

TEST(GenerateTest, StopsAtTheFirstStopToken) {
  const Target target = tiny::target(1);
  GenerateOptions options;
  options.maxNewTokens = 20;
  const std::vector<std::int64_t> free = generateGreedy(target, prompt(3), options).tokens;
  options.stopTokens = {free[9 + 6]};
  const auto first = std::find(free.begin() + 9, free.end(), options.stopTokens.front());
  const std::vector<std::int64_t> expected(free.begin(), first + 1);
  EXPECT_EQ(generateGreedy(target, prompt(3), options).tokens, expected);
  EXPECT_EQ(generateSpeculative(target, tiny::drafter(2), prompt(3), options).tokens, expected);
}

TEST(GenerateTest, StopTokenInThePromptDoesNotStop) {
  GenerateOptions options;
  options.maxNewTokens = 3;
  options.stopTokens = {prompt(3).front()};
  const Target target = tiny::target(1);
  const std::vector<std::int64_t> text = generateGreedy(target, prompt(3), options).tokens;
  EXPECT_GT(text.size(), 9u);
  EXPECT_EQ(generateSpeculative(target, tiny::drafter(2), prompt(3), options).tokens, text);
}

TEST(GenerateTest, ShortestRunsWork) {
  const Target target = tiny::target(1);
  GenerateOptions options;
  options.maxNewTokens = 0;
  EXPECT_EQ(generateGreedy(target, {5}, options).tokens, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(generateSpeculative(target, tiny::drafter(2), {5}, options).tokens, (std::vector<std::int64_t>{5}));
  options.maxNewTokens = 1;
  EXPECT_EQ(generateSpeculative(target, tiny::drafter(2), {5}, options).tokens,
            generateGreedy(target, {5}, options).tokens);
}

TEST(GenerateTest, PromptOutsideTheVocabularyIsBadInput) {
  const Target target = tiny::target(1);
  EXPECT_THROW(generateGreedy(target, {}, {}), Error);
  EXPECT_THROW(generateGreedy(target, {67}, {}), Error);
  EXPECT_THROW(generateSpeculative(target, tiny::drafter(2), {-1}, {}), Error);
}

TEST(GenerateTest, CachedForwardEqualsTheWholeOne) {
  const Target target = tiny::target(8);
  const at::Tensor ids = tiny::randomIds(1, 20, 4);
  const at::Tensor whole = target.forward(ids, {}).hidden;
  KeyValueCache cache(4, 24);
  target.forward(ids.narrow(1, 0, 13), {}, &cache);
  target.forward(tiny::randomIds(1, 6, 5), {}, &cache);  // a rejected draft
  cache.crop(13);
  const at::Tensor rest = target.forward(ids.narrow(1, 13, 7), {}, &cache).hidden;
  // Rows differ at most by the order of up to 20 summands of attention, in each of 4 layers.
  EXPECT_LE(tiny::relativeError(rest, whole.narrow(1, 13, 7)), 4 * 20 * 0x1p-24);
  EXPECT_EQ(cache.length(), 20);
}

TEST(GenerateTest, MismatchesComeWithTheirMargin) {
  const Target target = tiny::target(1);
  GenerateOptions options;
  options.maxNewTokens = 12;
  std::vector<std::int64_t> text = generateGreedy(target, prompt(3), options).tokens;
  EXPECT_TRUE(findMismatches(target, text, 9).empty());
  const std::int64_t right = text.back();
  text.back() = (right + 1) % 67;
  const std::vector<Mismatch> found = findMismatches(target, text, 9);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].position, 20);
  EXPECT_EQ(found[0].token, text.back());
  EXPECT_EQ(found[0].likeliest, right);
  EXPECT_GT(found[0].margin, 0);
}

TEST(GenerateTest, Bfloat16MismatchesAreRoundingSized) {
  const Target target = tiny::target(1, at::kBFloat16);
  GenerateOptions options;
  options.maxNewTokens = 40;
  const Generation drafted = generateSpeculative(target, tiny::drafter(2, at::kBFloat16), prompt(3), options);
  EXPECT_EQ(drafted.tokens.size(), 49u);
  at::Tensor ids = at::tensor(drafted.tokens, at::kLong).view({1, -1});
  const double largest = target.head().logits(target.forward(ids, {}).hidden).abs().max().item<double>();
  // 12 roundings a layer and two, of at most 2^-9 each, on both sides.
  for (const Mismatch& mismatch : findMismatches(target, drafted.tokens, 9))
    EXPECT_LE(mismatch.margin, 2 * (12 * 4 + 2) * 0x1p-9 * largest) << mismatch.position;
}

TEST(GenerateTest, TrainingRaisesTheAcceptanceLength) {
  const Target target = tiny::target(1);
  const Drafter drafter = tiny::drafter(2);
  GenerateOptions options;
  options.maxNewTokens = 40;
  const std::vector<std::int64_t> text = generateGreedy(target, prompt(3), options).tokens;
  const double before = generateSpeculative(target, drafter, prompt(3), options).meanAcceptLength();
  const at::Tensor ids = at::tensor(text, at::kLong).view({1, -1});
  const at::Tensor mask = tiny::lossMask(1, ids.size(1), 8);
  const at::Tensor feature = target.contextFeature(ids, drafter.config().targetLayerIds);
  std::vector<std::string> names;
  for (const ParameterSpec& spec : drafterParameters(drafter.config())) names.push_back(spec.name);
  AdamW optimizer(drafter.parameters(), names);
  LossSums last;
  for (std::int64_t step = 0; step < 60; ++step) {
    const BlockPlan plan = planBlocks(ids, mask, drawAnchors(mask, 24, 1, step, {0}), 5, 66, 7.0);
    MicroBatchResult result = trainMicroBatch(drafter, target.head(), feature, plan, {});
    for (at::Tensor& gradient : result.gradients) gradient.div_(result.sums.denominator);
    clipByGlobalNorm(result.gradients, globalNorm(result.gradients), 1.0);
    optimizer.step(result.gradients, 1e-2);
    last = result.sums;
  }
  const Generation after = generateSpeculative(target, drafter, prompt(3), options);
  EXPECT_EQ(after.tokens, text);
  EXPECT_GT(last.accuracy(), 0.9);
  EXPECT_GT(after.meanAcceptLength(), 4.0) << "of at most 5; before training " << before;
  EXPECT_LT(before, 2.0);
}

}  // namespace
}  // namespace redraft::model
