#include "golden/distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

TEST(DistanceTest, IsNothingBetweenARecordAndItself) {
  const auto steps = distances(exampleRecord(), exampleRecord());
  ASSERT_EQ(steps.size(), 3u);
  for (const StepDistance& step : steps) EXPECT_EQ(step.largest(), 0.0);
}

TEST(DistanceTest, IsRelativeAndNamesTheWorstParameter) {
  const Record a = exampleRecord();
  Record b = a;
  b.numericsClass.fields["device"] = "cuda";  // what may differ
  b.steps[0].values["loss"] *= 1.25;
  b.gradients[0][1].l2 *= 1.5;
  b.gradients[1][0].sketch[3] += static_cast<float>(a.gradients[1][0].l2 / 2);
  const auto steps = distances(a, b);
  EXPECT_DOUBLE_EQ(steps[0].loss, 0.25);
  EXPECT_DOUBLE_EQ(steps[0].l2, 0.5);
  EXPECT_EQ(steps[0].l2Parameter, a.parameters[1]);
  EXPECT_NEAR(steps[1].gradient, 0.5, 1e-6);
  EXPECT_EQ(steps[1].gradientParameter, a.parameters[0]);
  EXPECT_NE(describe(steps).find(a.parameters[0]), std::string::npos);
}

TEST(DistanceTest, ANanIsInfinitelyFar) {
  Record b = exampleRecord();
  b.steps[1].values["loss"] = std::nan("");
  EXPECT_EQ(distances(exampleRecord(), b)[1].loss, std::numeric_limits<double>::infinity());
}

TEST(DistanceTest, RunsOfTwoTrainingsAreRefused) {
  Record b = exampleRecord();
  b.steps[1].values["learning_rate"] *= 2;
  EXPECT_THROW(distances(exampleRecord(), b), Error);
  b = exampleRecord();
  b.parameters[0] = "another";
  EXPECT_THROW(distances(exampleRecord(), b), Error);
  b = exampleRecord();
  b.gradients.clear();
  EXPECT_THROW(distances(exampleRecord(), b), Error);
}

}  // namespace
}  // namespace redraft::golden
