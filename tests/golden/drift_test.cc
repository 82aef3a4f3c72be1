#include "golden/drift.h"

#include <gtest/gtest.h>

#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

/// A run whose loss and first gradient are off by so much from step 1 on.
Record runOff(double by, const std::string& isa) {
  Record run = exampleRecord();
  run.numericsClass.fields["isa"] = isa;
  for (std::size_t s = 1; s < run.steps.size(); ++s) {
    run.steps[s].values["loss"] += by;
    run.gradients[s][0].sketch[0] += static_cast<float>(by);
    if (by != 0) run.gradients[s][0].hash = std::string(32, 'f');
  }
  return run;
}

/// The losses' offsets of old code in old and new environment, new code in old and new environment.
DriftCells cells(double oldOld, double oldNew, double newOld, double newNew) {
  DriftCells all;
  const double offsets[] = {oldOld, oldNew, newOld, newNew};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].code = i < 2 ? "old" : "new";
    all[i].environment = i % 2 == 0 ? "AVX2" : "plain";
    all[i].record = runOff(offsets[i], i % 2 == 0 ? "AVX2" : "DEFAULT");
  }
  return all;
}

DriftAnswer answerTo(const DriftCells& all) { return assessDrift(all, nullptr).answer; }

TEST(DriftTest, TellsTheEnvironmentFromTheCode) {
  EXPECT_EQ(answerTo(cells(0, 0, 0, 0)), DriftAnswer::kNone);
  EXPECT_EQ(answerTo(cells(0, 0.5, 0, 0.5)), DriftAnswer::kEnvironment);
  EXPECT_EQ(answerTo(cells(0, 0, 0.5, 0.5)), DriftAnswer::kCode);
  EXPECT_EQ(answerTo(cells(0, 0.25, 0.5, 0.75)), DriftAnswer::kBoth);
}

TEST(DriftTest, ADefectThatShowsInOneEnvironmentAloneIsAnInteraction) {
  const DriftReport report = assessDrift(cells(0, 0, 0, 0.5), nullptr);
  EXPECT_EQ(report.answer, DriftAnswer::kInteraction);
  EXPECT_EQ(report.because, "the code matters in the new environment alone");
  EXPECT_EQ(answerTo(cells(0, 0.5, 0, 0)), DriftAnswer::kInteraction);
}

TEST(DriftTest, SaysWhereAndByHowMuch) {
  const DriftReport report = assessDrift(cells(0, 0.425, 0, 0.425), nullptr);
  ASSERT_EQ(report.edges.size(), 4u);
  EXPECT_EQ(report.edges[0].firstStep, 1);
  EXPECT_NEAR(*report.edges[0].loss, 0.1, 1e-9);
  EXPECT_NEAR(*report.edges[0].gradient, 0.425, 1e-6);
  EXPECT_EQ(report.edges[2].differs, false);
}

TEST(DriftTest, SaysWhetherRoundingExplainsWhatAnotherEnvironmentDoes) {
  AcrossMeans means{Arithmetic{192, 0, 100, 32, 8}, {}};
  Response& response = means.responses["float32"];
  response.seeds = 8;
  for (const char* series : {"loss", "grad_norm", "gradient/fc.weight", "gradient_norm/fc.weight",
                             "gradient/norm.weight", "gradient_norm/norm.weight"})
    response.series[series] = std::vector<double>(3, 1e-7);
  const DriftReport rounding = assessDrift(cells(0, 1e-6, 0, 1e-6), &means);
  EXPECT_EQ(rounding.edges[0].explained, true) << rounding.edges[0].bound;
  const DriftReport defect = assessDrift(cells(0, 0.5, 0.25, 0.75), &means);
  EXPECT_EQ(defect.edges[0].explained, false) << defect.edges[0].bound;
  EXPECT_FALSE(defect.edges[2].explained) << "in one environment every bit counts";
  EXPECT_FALSE(assessDrift(cells(0, 1e-6, 0, 1e-6), nullptr).edges[0].explained);
}

TEST(DriftTest, AMissingCellLeavesWhatTheOthersShow) {
  DriftCells all = cells(0, 0.5, 0, 0.5);
  all[2].record.reset();
  all[2].missing = "it has no option --isa";
  const DriftReport report = assessDrift(all, nullptr);
  EXPECT_EQ(report.answer, DriftAnswer::kEnvironment) << "the environment under the old code, the code in the new one";
  EXPECT_NE(report.because.find("new code in the old environment (new, AVX2) could not be run"), std::string::npos)
      << report.because;
  EXPECT_NE(describe(all, report).find("could not be run: it has no option --isa"), std::string::npos);
  all[3].record.reset();
  EXPECT_EQ(answerTo(all), DriftAnswer::kUnknown) << "no two codes in one environment";
}

TEST(DriftTest, ACellWhoseRunsDifferMakesEveryDifferenceMeaningless) {
  DriftCells all = cells(0, 0.5, 0, 0.5);
  all[1].steady = false;
  EXPECT_EQ(answerTo(all), DriftAnswer::kUnsteady);
}

}  // namespace
}  // namespace redraft::golden
