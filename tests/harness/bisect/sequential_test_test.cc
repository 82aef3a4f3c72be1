#include "harness/bisect/sequential_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/bisect/bisect_ends.h"

namespace redraft::harness {
namespace {

using Answer = SequentialTest::Answer;

TEST(SequentialTestTest, OneRunDecidesWhereNoneMisleads) {
  SequentialTest test(0, 0.01);
  EXPECT_EQ(test.margin(), 1);
  EXPECT_EQ(test.answer(), Answer::kOpen);
  test.add(true);
  EXPECT_EQ(test.answer(), Answer::kBad);
  EXPECT_EQ(test.errorRate(), 0);
}

TEST(SequentialTestTest, TheMarginIsTheLeastThatKeepsTheError) {
  for (const double misleading : {0.01, 0.1, 0.3, 0.45}) {
    for (const double error : {0.1, 0.01, 1e-4}) {
      const SequentialTest test(misleading, error);
      EXPECT_LE(test.errorRate(), error) << misleading;
      const double ratio = (1 - misleading) / misleading;
      EXPECT_GT(1 / (1 + std::pow(ratio, test.margin() - 1)), error) << "one run less would not do";
    }
  }
  EXPECT_EQ(SequentialTest(0.3, 0.01).margin(), 6);
}

TEST(SequentialTestTest, RunsForBothSidesCancel) {
  SequentialTest test(0.1, 0.01);  // margin 3
  for (const bool bad : {true, true, false, false, false, false}) test.add(bad);
  EXPECT_EQ(test.answer(), Answer::kOpen);
  test.add(false);
  EXPECT_EQ(test.answer(), Answer::kGood);
}

TEST(SequentialTestTest, IsWrongAsOftenAsItSays) {
  std::mt19937 random(7);
  std::bernoulli_distribution misleads(0.3);
  int wrong = 0;
  double runs = 0;
  constexpr int kTests = 20000;
  double said = 0;
  for (int i = 0; i < kTests; ++i) {
    SequentialTest test(0.3, 0.05);
    const bool bad = i % 2 == 0;
    for (; test.answer() == Answer::kOpen; ++runs) test.add(misleads(random) != bad);
    wrong += (test.answer() == Answer::kBad) != bad ? 1 : 0;
    said = test.errorRate();
  }
  const double rate = wrong / static_cast<double>(kTests), sigma = std::sqrt(said * (1 - said) / kTests);
  EXPECT_NEAR(rate, said, 4 * sigma);
  EXPECT_NEAR(runs / kTests, 4 * (1 - 2 * said) / 0.4, 0.3) << "margin 4: the walk drifts by 0.4 a run";
}

TEST(SequentialTestTest, TheErrorIsSharedOutToTheEndsAndTheStepsBetween) {
  EXPECT_DOUBLE_EQ(errorPerCommit(0.06, 16), 0.01);
  EXPECT_DOUBLE_EQ(errorPerCommit(0.06, 1), 0.03);
  EXPECT_DOUBLE_EQ(errorPerCommit(0.07, 17), 0.01);
}

}  // namespace
}  // namespace redraft::harness
