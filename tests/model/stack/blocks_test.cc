#include "model/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

std::vector<std::int64_t> keptOf(const Anchors& anchors, std::int64_t row) {
  std::vector<std::int64_t> kept;
  for (std::int64_t j = 0; j < anchors.width(); ++j) {
    if (anchors.keep[row][j].item<bool>()) kept.push_back(anchors.positions[row][j].item<std::int64_t>());
  }
  return kept;
}

TEST(AnchorsTest, AreSortedDistinctSupervisedPairs) {
  const at::Tensor mask = tiny::lossMask(3, 40, 4, 5);
  const Anchors anchors = drawAnchors(mask, 9, 42, 7, {10, 11, 12});
  ASSERT_EQ(anchors.width(), 9);
  for (std::int64_t row = 0; row < 3; ++row) {
    const std::vector<std::int64_t> kept = keptOf(anchors, row);
    EXPECT_EQ(kept.size(), 9u);
    for (std::size_t j = 0; j < kept.size(); ++j) {
      EXPECT_TRUE(mask[row][kept[j]].item<bool>() && mask[row][kept[j] + 1].item<bool>()) << kept[j];
      if (j > 0) {
        EXPECT_LT(kept[j - 1], kept[j]);
      }
    }
  }
}

TEST(AnchorsTest, WidthIsTheLargestRowsCountAndOthersAreDropped) {
  at::Tensor mask = tiny::lossMask(3, 20, 12);
  mask[1].zero_();
  mask[1][18] = true;
  mask[1][19] = true;
  mask[2].zero_();
  const Anchors anchors = drawAnchors(mask, 40, 1, 0, {0, 1, 2});
  ASSERT_EQ(anchors.width(), 7);  // 12 … 18: the last position is never an anchor
  EXPECT_EQ(keptOf(anchors, 0), (std::vector<std::int64_t>{12, 13, 14, 15, 16, 17, 18}));
  EXPECT_EQ(keptOf(anchors, 1), (std::vector<std::int64_t>{18}));
  EXPECT_TRUE(keptOf(anchors, 2).empty());
  EXPECT_EQ(anchors.positions[2].abs().sum().item<std::int64_t>(), 0);
  EXPECT_EQ(countAnchorCandidates(mask), 8);
}

TEST(AnchorsTest, NoCandidateGivesNoBlocks) {
  const Anchors anchors = drawAnchors(at::zeros({2, 8}, at::kBool), 4, 1, 0, {0, 1});
  EXPECT_EQ(anchors.width(), 0);
}

TEST(AnchorsTest, DrawDependsOnSeedStepAndSampleAlone) {
  const at::Tensor mask = tiny::lossMask(2, 64);
  const Anchors both = drawAnchors(mask, 5, 3, 8, {21, 22});
  const Anchors alone = drawAnchors(mask.narrow(0, 1, 1), 5, 3, 8, {22});
  EXPECT_EQ(keptOf(both, 1), keptOf(alone, 0));
  EXPECT_NE(keptOf(both, 0), keptOf(both, 1));
  EXPECT_NE(keptOf(drawAnchors(mask, 5, 3, 9, {21, 22}), 0), keptOf(both, 0));
  EXPECT_NE(keptOf(drawAnchors(mask, 5, 4, 8, {21, 22}), 0), keptOf(both, 0));
}

TEST(AnchorsTest, EveryPositionIsEquallyLikely) {
  // 4 of 16 candidates, 4000 independent draws. Without replacement the counts' covariance is that of a hypergeometric
  // draw, so Σ (n_i - E)² / E · (n - 1) / (n - k) follows chi-square with n - 1 degrees of freedom; 37.7 is its 99.9 %
  // quantile for 15. The seed is fixed: the test either always passes or never does.
  constexpr std::int64_t kCandidates = 16, kDrawn = 4, kDraws = 4000;
  const at::Tensor mask = at::ones({1, kCandidates + 1}, at::kBool);
  std::vector<double> counts(kCandidates, 0.0);
  for (std::int64_t step = 0; step < kDraws; ++step) {
    const Anchors anchors = drawAnchors(mask, kDrawn, 20, step, {0});
    for (const std::int64_t position : keptOf(anchors, 0)) ++counts[static_cast<std::size_t>(position)];
  }
  const double expected = static_cast<double>(kDraws * kDrawn) / kCandidates;
  double chiSquare = 0;
  for (const double count : counts) chiSquare += (count - expected) * (count - expected) / expected;
  chiSquare *= (kCandidates - 1.0) / (kCandidates - kDrawn);
  EXPECT_LT(chiSquare, 37.7);
  EXPECT_GT(chiSquare, 3.48);  // the 0.1 % quantile: too even would be as suspicious
}

TEST(BlockPlanTest, FollowsTheFormulasSlotBySlot) {
  const at::Tensor ids = tiny::randomIds(2, 12, 5);
  const at::Tensor mask = tiny::lossMask(2, 12, 3, 5);
  Anchors anchors = {at::tensor({3, 8, 10, 6, 0, 0}, at::kLong).view({2, 3}),
                     at::tensor({1, 1, 1, 1, 0, 0}, at::kLong).view({2, 3}).to(at::kBool)};
  const double gamma = 3.0;
  const BlockPlan plan = planBlocks(ids, mask, anchors, 4, 66, gamma);
  double weightSum = 0;
  std::int64_t validCount = 0;
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t j = 0; j < 3; ++j) {
      const auto anchor = anchors.positions[row][j].item<std::int64_t>();
      const bool keep = anchors.keep[row][j].item<bool>();
      for (std::int64_t k = 0; k < 4; ++k) {
        const std::int64_t p = anchor + k;
        const bool valid = keep && p < 12 && k > 0 && mask[row][std::min<std::int64_t>(p, 11)].item<bool>();
        EXPECT_EQ(plan.valid[row][j][k].item<bool>(), valid);
        EXPECT_EQ(plan.positions[row][j * 4 + k].item<std::int64_t>(), p);
        const std::int64_t id = keep && k == 0 ? ids[row][anchor].item<std::int64_t>() : 66;
        EXPECT_EQ(plan.blockIds[row][j * 4 + k].item<std::int64_t>(), id);
        const float weight = valid ? static_cast<float>(std::exp(-std::max(k - 1.0, 0.0) / gamma)) : 0.0f;
        EXPECT_EQ(plan.weights[row][j][k].item<float>(), weight);
        if (valid) {
          EXPECT_EQ(plan.labels[row][j][k].item<std::int64_t>(), ids[row][p].item<std::int64_t>());
        }
        weightSum += weight;
        validCount += valid ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(plan.weightSum, weightSum);
  EXPECT_EQ(plan.validCount, validCount);
  EXPECT_GT(validCount, 5);
  EXPECT_EQ(plan.keptBlocks, 4);
}

TEST(BlockPlanTest, WithoutGammaEveryValidSlotWeighsOne) {
  const at::Tensor mask = tiny::lossMask(1, 20);
  const Anchors anchors = drawAnchors(mask, 3, 1, 0, {0});
  for (const std::optional<double> gamma :
       {std::optional<double>(), std::optional<double>(0.0), std::optional<double>(-1.0)}) {
    const BlockPlan plan = planBlocks(tiny::randomIds(1, 20, 1), mask, anchors, 6, 66, gamma);
    EXPECT_TRUE(at::equal(plan.weights, plan.valid.to(at::kFloat)));
  }
}

}  // namespace
}  // namespace redraft::model
