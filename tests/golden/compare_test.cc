#include "golden/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

TEST(UlpDistanceTest, CountsNeighboursOfFloat32ValuesInFloat32) {
  const double one = 1.0;
  const double next = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ(ulpDistance(one, next), 1u);
  EXPECT_EQ(ulpDistance(next, one), 1u);
  EXPECT_EQ(ulpDistance(one, one), 0u);
}

TEST(UlpDistanceTest, CountsInFloat64WhenOneSideIsNoFloat32) {
  EXPECT_EQ(ulpDistance(1.0, std::nextafter(1.0, 2.0)), 1u);
}

TEST(UlpDistanceTest, CrossesZeroWithoutAGap) {
  const double tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ulpDistance(-tiny, tiny), 2u);
  EXPECT_EQ(ulpDistance(-0.0, 0.0), 0u);
}

TEST(UlpDistanceTest, PutsNanAndInfinityInfinitelyFarFromNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t farthest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(ulpDistance(nan, 1.0), farthest);
  EXPECT_EQ(ulpDistance(1.0, std::numeric_limits<double>::infinity()), farthest);
  EXPECT_EQ(ulpDistance(nan, nan), 0u);
}

TEST(CompareNumericsTest, FindsARecordEqualToItself) {
  const NumericsComparison comparison = compareNumerics(exampleRecord(), exampleRecord());
  EXPECT_EQ(comparison.outcome, Outcome::kEqual);
  EXPECT_EQ(describe(comparison), "equal bit for bit\n");
}

TEST(CompareNumericsTest, NamesTheFirstStepAndTheUlpOfALossOneUlpOff) {
  Record actual = exampleRecord();
  double& loss = actual.steps[1].values["loss"];
  loss = std::nextafter(static_cast<float>(loss), 10.0f);
  const NumericsComparison comparison = compareNumerics(exampleRecord(), actual);
  ASSERT_EQ(comparison.outcome, Outcome::kDifferent);
  EXPECT_EQ(comparison.firstStep, 1);
  ASSERT_EQ(comparison.metrics.size(), 1u);
  EXPECT_EQ(comparison.metrics[0].metric, "loss");
  EXPECT_EQ(comparison.metrics[0].ulp, 1u);
}

TEST(CompareNumericsTest, SeesANanThatReplacedANumber) {
  Record actual = exampleRecord();
  actual.steps[2].values["loss"] = std::nan("");
  const NumericsComparison comparison = compareNumerics(exampleRecord(), actual);
  ASSERT_EQ(comparison.outcome, Outcome::kDifferent);
  EXPECT_EQ(comparison.firstStep, 2);
}

TEST(CompareNumericsTest, SeesTheSignOfZero) {
  Record actual = exampleRecord();
  actual.steps[0].values["accuracy"] = -0.0;
  EXPECT_EQ(compareNumerics(exampleRecord(), actual).outcome, Outcome::kDifferent);
}

TEST(CompareNumericsTest, ListsTheGradientsThatDifferFirstLargestFirst) {
  Record actual = exampleRecord();
  for (int step = 1; step < 3; ++step) {
    for (int parameter = 0; parameter < 2; ++parameter) {
      GradientDigest& digest = actual.gradients[step][parameter];
      digest.hash = std::string(32, '9');
      digest.sketch[0] += parameter == 0 ? 0.125f : 0.5f;
    }
  }
  const NumericsComparison comparison = compareNumerics(exampleRecord(), actual);
  ASSERT_EQ(comparison.outcome, Outcome::kDifferent);
  EXPECT_EQ(comparison.firstStep, 1);
  ASSERT_EQ(comparison.gradients.size(), 2u);
  EXPECT_EQ(comparison.gradients[0].parameter, "norm.weight");
  EXPECT_DOUBLE_EQ(comparison.gradients[0].relative, 0.5);
  EXPECT_EQ(comparison.gradients[0].step, 1);
}

TEST(CompareNumericsTest, SeesAMissingStepAMissingMetricAndAMissingEvaluation) {
  Record shorter = exampleRecord();
  shorter.steps.pop_back();
  shorter.gradients.pop_back();
  EXPECT_EQ(compareNumerics(exampleRecord(), shorter).outcome, Outcome::kDifferent);
  EXPECT_EQ(compareNumerics(shorter, exampleRecord()).outcome, Outcome::kDifferent);
  Record lacking = exampleRecord();
  lacking.steps[0].values.erase("loss");
  EXPECT_EQ(compareNumerics(exampleRecord(), lacking).outcome, Outcome::kDifferent);
  EXPECT_EQ(compareNumerics(lacking, exampleRecord()).outcome, Outcome::kDifferent);
  Record silent = exampleRecord();
  silent.evaluation.reset();
  EXPECT_EQ(compareNumerics(exampleRecord(), silent).outcome, Outcome::kDifferent);
}

TEST(CompareNumericsTest, SeesOtherAcceptLengthsOfEqualMean) {
  Record actual = exampleRecord();
  actual.evaluation->acceptLengths = {1, 3, 2};
  EXPECT_EQ(compareNumerics(exampleRecord(), actual).outcome, Outcome::kDifferent);
}

TEST(CompareNumericsTest, RefusesAnotherClassAndNamesTheField) {
  Record actual = exampleRecord();
  actual.numericsClass.fields["libtorch"] = "2.12.0";
  const NumericsComparison comparison = compareNumerics(exampleRecord(), actual);
  EXPECT_EQ(comparison.outcome, Outcome::kIncomparable);
  EXPECT_NE(comparison.reason.find("libtorch 2.11.0 against 2.12.0"), std::string::npos) << comparison.reason;
}

TEST(CompareNumericsTest, RefusesEmptyRecordsAndOtherParameters) {
  EXPECT_EQ(compareNumerics(Record{}, Record{}).outcome, Outcome::kIncomparable);
  Record renamed = exampleRecord();
  renamed.parameters[0] = "other.weight";
  EXPECT_EQ(compareNumerics(exampleRecord(), renamed).outcome, Outcome::kIncomparable);
}

TEST(CompareThroughputTest, GivesTheRatioOfMediansWithItsSpread) {
  Record actual = exampleRecord();
  for (double& sample : actual.samples["all"].tokensPerSecond) sample *= 2;
  const ThroughputComparison comparison = compareThroughput(exampleRecord(), actual);
  ASSERT_EQ(comparison.outcome, Outcome::kEqual);
  ASSERT_EQ(comparison.roles.size(), 2u);
  EXPECT_EQ(comparison.roles[0].role, "all");
  EXPECT_DOUBLE_EQ(comparison.roles[0].ratio, 2.0);
  EXPECT_DOUBLE_EQ(comparison.roles[1].ratio, 1.0);
}

TEST(CompareThroughputTest, RefusesAnotherMachineAndSingleSamples) {
  Record other = exampleRecord();
  other.performanceClass->fields["cpu"] = "Other";
  EXPECT_EQ(compareThroughput(exampleRecord(), other).outcome, Outcome::kIncomparable);
  Record single = exampleRecord();
  for (auto& [role, samples] : single.samples) samples.tokensPerSecond.resize(1);
  EXPECT_EQ(compareThroughput(exampleRecord(), single).outcome, Outcome::kIncomparable);
}

TEST(NumericsClassTest, NamesChangeWithAnyField) {
  NumericsClass a = exampleRecord().numericsClass;
  NumericsClass b = a;
  b.fields["mkl"] = "COMPATIBLE";
  EXPECT_NE(a.name(), b.name());
  EXPECT_EQ(a.name().find("cpu-avx2-torch2.11.0-t1-k1-"), 0u) << a.name();
}

}  // namespace
}  // namespace redraft::golden
