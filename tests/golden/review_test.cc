#include "golden/review.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "golden/golden_file.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

class ReviewTest : public ::testing::Test {
 protected:
  ReviewTest() { bless(exampleRecord(), root(), "g", because("first baseline")); }

  static Provenance because(const std::string& reason) {
    Provenance provenance;
    provenance.reason = reason;
    provenance.commit = "2555668f57bf00";
    provenance.date = "2026-11-30T12:00:00Z";
    return provenance;
  }
  static Record changedRun() {
    Record run = exampleRecord();
    run.steps[1].values["loss"] = 4.5;
    run.steps[2].values["loss"] = 4.25;
    run.gradients[2][0].sketch[3] += 0.5f;
    run.gradients[2][0].hash = std::string(32, '7');
    run.peakBytes[6] = 8192;
    return run;
  }
  std::string root() const { return folder_.path(); }
  std::string file() const { return numericsPath(root(), "g", exampleRecord().numericsClass); }
  Golden written(const Golden& golden) const {
    overwrite(file(), numericsText(golden));
    return loadGolden(file());
  }

  TemporaryFolder folder_;
};

TEST_F(ReviewTest, GroupsWhatChangedByWhatItIsOfAndSaysByHowMuch) {
  const Review review = reviewOf(changedRun(), root(), "g");
  EXPECT_FALSE(review.equal());
  EXPECT_EQ(review.whole, "");
  ASSERT_EQ(review.series.size(), 2u) << "peaks are no change";
  EXPECT_EQ(review.changes(), 3u);
  EXPECT_EQ(describe(review.series[0]),
            "step/*/loss: 2 steps, the first 1, the furthest 2: 4 → 4.25 (524288 ULP, 0.062 relative)");
  EXPECT_EQ(describe(review.series[1]), "step/2/gradient/fc.weight: L2 1 → L2 1 (0 ULP, about 0.5 relative)");
}

TEST_F(ReviewTest, ARunThatIsEqualLeavesNothingToReview) {
  EXPECT_TRUE(reviewOf(exampleRecord(), root(), "g").equal());
}

TEST_F(ReviewTest, WhatIsAcceptedAloneIsTakenAndTheReasonsBeforeAreKept) {
  const Review review = reviewOf(changedRun(), root(), "g");
  const Golden golden = written(accepted(review, {"step/1/loss"}, because("the schedule changed")));
  EXPECT_EQ(golden.record.steps[1].values.at("loss"), 4.5);
  EXPECT_EQ(golden.record.steps[2].values.at("loss"), exampleRecord().steps[2].values.at("loss"));
  EXPECT_EQ(golden.record.gradients[2][0].hash, exampleRecord().gradients[2][0].hash);
  EXPECT_EQ(golden.provenance.accepted, "1 of 3 changed values");
  EXPECT_EQ(golden.history, std::vector<std::string>{"2026-11-30T12:00:00Z 2555668f57bf first baseline"});
  const Review rest = reviewOf(changedRun(), root(), "g");
  EXPECT_EQ(rest.changes(), 2u);
}

TEST_F(ReviewTest, AcceptingEverythingGivesTheRun) {
  const Review review = reviewOf(changedRun(), root(), "g");
  std::set<std::string> all;
  for (const ChangeSeries& series : review.series)
    for (const Change& change : series.changes) all.insert(change.key);
  const Golden golden = written(accepted(review, all, because("new kernels")));
  EXPECT_EQ(compareNumerics(golden.record, changedRun()).outcome, Outcome::kEqual);
  EXPECT_EQ(golden.provenance.accepted, "everything");
  EXPECT_TRUE(reviewOf(changedRun(), root(), "g").equal());
}

TEST_F(ReviewTest, TheHistoryIsBounded) {
  for (int i = 0; i < 30; ++i) bless(exampleRecord(), root(), "g", because("reason " + std::to_string(i)));
  const Golden golden = loadGolden(file());
  ASSERT_EQ(golden.history.size(), kMaxHistory);
  EXPECT_NE(golden.history.front().find("reason 28"), std::string::npos);
  EXPECT_NE(golden.history.back().find("reason 9"), std::string::npos);
}

TEST_F(ReviewTest, HalfOfANewStepIsRefusedAndAllOfItTaken) {
  Record longer = exampleRecord();
  longer.steps.push_back(longer.steps.back());
  longer.steps.back().step = 3;
  longer.gradients.push_back(longer.gradients.back());
  const Review review = reviewOf(longer, root(), "g");
  EXPECT_THROW(accepted(review, {"step/3/loss"}, because("x")), Error);
  std::set<std::string> step;
  for (const ChangeSeries& series : review.series) step.insert(series.changes.front().key);
  EXPECT_EQ(accepted(review, step, because("x")).record.steps.size(), 4u);
}

TEST_F(ReviewTest, OtherParametersAndNewGoldensAreTakenAsAWholeOrNotAtAll) {
  Record renamed = exampleRecord();
  renamed.parameters[0] = "other.weight";
  const Review review = reviewOf(renamed, root(), "g");
  EXPECT_EQ(review.whole, "its parameters are others");
  EXPECT_THROW(accepted(review, {"step/0/gradient/other.weight"}, because("x")), Error);
  EXPECT_EQ(reviewOf(exampleRecord(), root(), "new").whole, "there is no golden yet");
}

class MergedGoldenTest : public ReviewTest {
 protected:
  MergedGoldenTest() {
    std::string text = readFile(file());
    for (const auto& [key, other] : {std::pair{"step/0/loss", "0x1.4p+2"}, {"step/1/loss", "0x1.8p+2"}}) {
      const std::size_t begin = text.find("  \"" + std::string(key)), end = text.find('\n', begin) + 1;
      const std::string ours = text.substr(begin, end - begin);
      text.replace(begin, end - begin,
                   "<<<<<<< HEAD\n" + ours + "=======\n  \"" + key + "\": \"" + other + "\",\n>>>>>>> feature\n");
    }
    overwrite(file(), text);
  }
};

TEST_F(MergedGoldenTest, AConflictIsReviewedWithBothSidesInSight) {
  Record merged = exampleRecord();
  merged.steps[1].values["loss"] = 5;
  const Review review = reviewOf(merged, root(), "g");
  ASSERT_TRUE(review.merged.has_value());
  ASSERT_EQ(review.changes(), 2u);
  EXPECT_EQ(describe(review.series[0].changes[0]), "4.5 | 5 → 4.5 (0 ULP, 0 relative)");
  EXPECT_EQ(describe(review.series[0].changes[1]).substr(0, 14), "4.25 | 6 → 5");
  const Golden golden = written(accepted(review, {"step/0/loss", "step/1/loss"}, because("merged")));
  EXPECT_EQ(golden.record.steps[1].values.at("loss"), 5);
  EXPECT_TRUE(reviewOf(merged, root(), "g").equal());
}

TEST_F(MergedGoldenTest, TheReasonsOfBothSidesAreKeptTheNewestFirst) {
  Review review = reviewOf(exampleRecord(), root(), "g");
  review.merged->golden.provenance.date = "2031-01-01";
  review.merged->golden.provenance.reason = "their reason";
  review.merged->golden.history = {"2001-01-01 their first reason"};
  const std::vector<std::string> history = accepted(review, {"step/0/loss"}, because("merged")).history;
  ASSERT_EQ(history.size(), 3u) << "ours, and their two";
  EXPECT_NE(history.front().find("their reason"), std::string::npos) << history.front();
  EXPECT_EQ(history.back(), "2001-01-01 their first reason");
}

TEST_F(MergedGoldenTest, WhatIsSkippedStaysAsOurSideHasIt) {
  Record merged = exampleRecord();
  merged.steps[1].values["loss"] = 5;
  const Review review = reviewOf(merged, root(), "g");
  const Golden golden = written(accepted(review, {"step/0/loss"}, because("merged")));
  EXPECT_EQ(golden.record.steps[1].values.at("loss"), 4.25);
}

}  // namespace
}  // namespace redraft::golden
