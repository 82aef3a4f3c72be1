#include "golden/signed_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace redraft::golden {
namespace {

TEST(SignedRankTest, CutsAreThoseOfThePublishedTables) {
  // Wilcoxon's tables give the largest T that is significant: one less than the cut. Two-sided 5 % and 1 %.
  EXPECT_EQ(signedRankCut(10, 0.025) - 1, 8);
  EXPECT_EQ(signedRankCut(12, 0.025) - 1, 13);
  EXPECT_EQ(signedRankCut(12, 0.005) - 1, 7);
  EXPECT_EQ(signedRankCut(20, 0.005) - 1, 37);
  EXPECT_EQ(signedRankCut(25, 0.025) - 1, 89);
}

TEST(SignedRankTest, TooFewValuesHaveNoInterval) {
  EXPECT_EQ(signedRankCut(4, 0.005), 0);
  const CentreInterval open = centreOf({1, 2, 3, 4}, 0.01);
  EXPECT_DOUBLE_EQ(open.centre, 2.5);
  EXPECT_TRUE(std::isinf(open.low) && std::isinf(open.high));
  EXPECT_EQ(fewestValues(0.01), 8);
  EXPECT_TRUE(std::isinf(centreOf({1, 2, 3, 4, 5, 6, 7}, 0.01).high));
  EXPECT_DOUBLE_EQ(centreOf({1, 2, 3, 4, 5, 6, 7, 8}, 0.01).high, 8);
}

TEST(SignedRankTest, TheCentreAndIntervalMoveWithTheValues) {
  const std::vector<double> values = {-3, -1, -0.5, 0, 0.2, 0.9, 1.1, 2, 4, 5};
  const CentreInterval here = centreOf(values, 0.05);
  std::vector<double> moved = values;
  for (double& value : moved) value = 100 - value;
  const CentreInterval there = centreOf(moved, 0.05);
  EXPECT_NEAR(there.centre, 100 - here.centre, 1e-12);
  EXPECT_NEAR(there.low, 100 - here.high, 1e-12);
  EXPECT_NEAR(there.high, 100 - here.low, 1e-12);
}

TEST(SignedRankTest, OneWildValueHardlyMovesIt) {
  std::vector<double> values(20);
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  for (double& value : values) value = noise(random);
  const CentreInterval before = centreOf(values, 0.05);
  values.front() = 1e6;
  const CentreInterval after = centreOf(values, 0.05);
  EXPECT_NEAR(after.centre, before.centre, 0.3);
  EXPECT_LT(after.high, before.high + 1);
}

/// Whatever the distribution, as long as it is symmetric: the heavy tails of a Cauchy have no mean at all.
TEST(SignedRankTest, MissesTheCentreAsRarelyAsItSays) {
  std::mt19937 random(11);
  std::cauchy_distribution<double> noise(5);
  constexpr int kRounds = 4000;
  int missed = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> values(15);
    for (double& value : values) value = noise(random);
    const CentreInterval interval = centreOf(values, 0.05);
    missed += interval.low > 5 || interval.high < 5 ? 1 : 0;
  }
  EXPECT_LT(missed, 0.05 * kRounds + 3 * std::sqrt(0.05 * kRounds));
  EXPECT_GT(missed, 0.03 * kRounds);  // nor is it wider than it need be
}

}  // namespace
}  // namespace redraft::golden
