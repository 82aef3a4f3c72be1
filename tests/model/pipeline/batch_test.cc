#include "model/pipeline/batch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

namespace redraft::model {
namespace {

Sample sampleOf(std::int64_t id, std::int64_t length) {
  Sample sample;
  sample.id = id;
  sample.tokens.assign(static_cast<std::size_t>(length), static_cast<std::int32_t>(id + 1));
  sample.supervised.assign(static_cast<std::size_t>(length), 1);
  return sample;
}

std::vector<Sample> tenSamples() {
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < 10; ++i) samples.push_back(sampleOf(i, 4 + i));
  return samples;
}

BatchOptions optionsOf(std::int64_t microBatches, std::int64_t batchSize) {
  BatchOptions options;
  options.seed = 3;
  options.microBatches = microBatches;
  options.batchSize = batchSize;
  options.anchors = 2;
  options.blockSize = 3;
  options.maskTokenId = 99;
  return options;
}

MicroBatchRef place(std::int64_t step, std::int64_t index) { return {.step = step, .index = index}; }

TEST(BatchTest, ShortRowsArePaddedOnTheRightAndUnsupervisedThere) {
  const Sample small = sampleOf(0, 2);
  const Sample large = sampleOf(1, 4);
  const Batch batch = padSamples({&small, &large});
  EXPECT_TRUE(at::equal(batch.ids, at::tensor({1, 1, 0, 0, 2, 2, 2, 2}, at::kLong).view({2, 4})));
  EXPECT_TRUE(at::equal(batch.lossMask.to(at::kLong), at::tensor({1, 1, 0, 0, 1, 1, 1, 1}, at::kLong).view({2, 4})));
  EXPECT_EQ(batch.tokens, 6);
  EXPECT_EQ(batch.sampleIds, std::vector<std::int64_t>({0, 1}));
}

TEST(BatchTest, AnEpochOfStepsUsesEverySampleOnce) {
  const std::vector<Sample> samples = tenSamples();
  const BatchMaker maker(samples, optionsOf(5, 1));
  std::multiset<std::int64_t> drawn;
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::int64_t index = 0; index < 5; ++index) drawn.insert(maker.batch(place(step, index)).sampleIds.front());
  }
  EXPECT_EQ(std::set<std::int64_t>(drawn.begin(), drawn.end()).size(), 10u);
}

TEST(BatchTest, HowSamplesAreBatchedDoesNotChangeWhichOnesAStepUses) {
  const std::vector<Sample> samples = tenSamples();
  const BatchMaker four(samples, optionsOf(4, 1));
  const BatchMaker two(samples, optionsOf(2, 2));
  std::vector<std::int64_t> single;
  std::vector<std::int64_t> paired;
  for (std::int64_t index = 0; index < 4; ++index) single.push_back(four.batch(place(7, index)).sampleIds.front());
  for (std::int64_t index = 0; index < 2; ++index) {
    for (const std::int64_t id : two.batch(place(7, index)).sampleIds) paired.push_back(id);
  }
  EXPECT_EQ(single, paired);
}

TEST(BatchTest, ASamplesAnchorsDoNotDependOnItsBatch) {
  const std::vector<Sample> samples = tenSamples();
  const BatchMaker four(samples, optionsOf(4, 1));
  const BatchMaker two(samples, optionsOf(2, 2));
  const Batch pair = two.batch(place(1, 1));
  const at::Tensor rows = two.plan(place(1, 1), pair).anchors.positions;
  for (std::int64_t row = 0; row < 2; ++row) {
    const MicroBatchRef ref = place(1, 2 + row);
    EXPECT_TRUE(at::equal(four.plan(ref, four.batch(ref)).anchors.positions[0], rows[row])) << row;
  }
}

}  // namespace
}  // namespace redraft::model
