#include "reports/pace.h"

#include <gtest/gtest.h>

#include "base/record.h"

namespace redraft::reports {
namespace {

Pace paceOf(double low, double median, double high) {
  Pace pace;
  pace.stepSeconds = {low, median, high};
  return pace;
}

TEST(PaceTest, ScalingIsTheRatioOfRatesWithTheQuartilesOfBothSidesAgainstEachOther) {
  const auto scaling = scalingOf("one", paceOf(0.9, 1.0, 1.1), 100, paceOf(1.0, 1.25, 2.5), 160);
  ASSERT_TRUE(scaling.has_value());
  EXPECT_EQ(scaling->of, "one");
  EXPECT_DOUBLE_EQ(scaling->ratio, 1.6);
  EXPECT_DOUBLE_EQ(scaling->low, 1.6 * (1.25 / 2.5) * 0.9);
  EXPECT_DOUBLE_EQ(scaling->high, 1.6 * 1.25 * 1.1);
}

TEST(PaceTest, AnUntimedSideHasNoScaling) {
  EXPECT_FALSE(scalingOf("one", Pace(), 100, paceOf(1, 1, 1), 100).has_value());
  EXPECT_FALSE(scalingOf("one", paceOf(1, 1, 1), 0, paceOf(1, 1, 1), 100).has_value());
}

TEST(PaceTest, TheBottleneckIsWhatTheDraftersWaitForOrTheyThemselves) {
  const auto bottleneck = [](double features, double gradients) {
    Pace pace = paceOf(1, 1, 1);
    pace.featureWait = {{"drafter[0]", features}, {"drafter[1]", 0}};
    pace.gradientWait = {{"drafter[0]", gradients}, {"drafter[1]", 0}};
    return bottleneckOf(pace);
  };
  EXPECT_EQ(bottleneck(0.5, 0.1), "target");
  EXPECT_EQ(bottleneck(0.1, 0.5), "exchange");
  EXPECT_EQ(bottleneck(0.005, 0.01), "drafter");
  EXPECT_FALSE(bottleneckOf(paceOf(1, 1, 1)).has_value());
}

TEST(PaceTest, TheLineTellsStepTimesWaitsAndScaling) {
  Pace pace = paceOf(0.1418, 0.1421, 0.1425);
  EXPECT_EQ(paceLine(Pace()), "");
  EXPECT_EQ(paceLine(pace), "step 142.1 ms (141.8–142.5)");
  pace.featureWait["drafter[0]"] = 0.001;
  pace.gradientWait["drafter[0]"] = 0.0042;
  pace.bottleneck = "drafter";
  pace.scaling = Scaling{"scaling/one-drafter", 1.97, 1.96, 1.98};
  EXPECT_EQ(paceLine(pace),
            "step 142.1 ms (141.8–142.5); drafter[0] waited for hidden states 0.10 %, for gradients 0.42 %; "
            "bottleneck: drafter; 1.970 × (1.960–1.980) of scaling/one-drafter");
}

TEST(PaceTest, IsAbsentFromTheFiguresOfARunThatWasNotTimedAndComesBackWhole) {
  Pace pace = paceOf(1, 2, 3);
  pace.featureWait["drafter[1]"] = 0.5;
  pace.scaling = Scaling{"a", 1.5, 1.25, 1.75};
  EXPECT_EQ(recordFromJson<Pace>(recordToJson(pace), "pace"), pace);
}

}  // namespace
}  // namespace redraft::reports
