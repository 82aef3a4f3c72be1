#include "golden/across.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "golden/golden_file.h"
#include "golden/student.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

TEST(StudentTest, GivesTheQuantilesOfTheTables) {
  EXPECT_NEAR(studentQuantile(0.05, 1), 12.706, 1e-3);
  EXPECT_NEAR(studentQuantile(0.01, 3), 5.841, 1e-3);
  EXPECT_NEAR(studentQuantile(0.05, 8), 2.306, 1e-3);
  EXPECT_NEAR(studentQuantile(0.001, 10), 4.587, 1e-3);
  EXPECT_NEAR(studentQuantile(0.05, 1000), 1.962, 1e-3);
  EXPECT_NEAR(studentTail(2.306, 8), 0.05, 1e-4);
}

constexpr Arithmetic kArithmetic{192, 0, 100, 32, 8};
constexpr double kAnswer = 1e-7;  // of every number to a perturbation

Golden goldenThatAnswersBy(double answer) {
  Golden golden{exampleRecord(), {}};
  golden.arithmetic = kArithmetic;
  Response& response = golden.responses["float32"];
  response.seeds = 8;
  std::vector<std::string> series = {"loss", "grad_norm"};
  for (const std::string& name : golden.record.parameters)
    series.insert(series.end(), {"gradient/" + name, "gradient_norm/" + name});
  for (const std::string& each : series) response.series[each] = std::vector<double>(3, answer);
  return golden;
}

Record otherClass() {
  Record run = exampleRecord();
  run.numericsClass.fields["isa"] = "plain";
  return run;
}

AcrossComparison compare(const Record& run, double answer = kAnswer) {
  return compareAcross(goldenThatAnswersBy(answer), run, kArithmetic);
}

const AcrossSeries& seriesIn(const AcrossComparison& comparison, const std::string& name) {
  for (const AcrossSeries& each : comparison.series)
    if (each.series == name) return each;
  static const AcrossSeries kNone;
  ADD_FAILURE() << "no series " << name;
  return kNone;
}

void scale(GradientDigest& digest, double by) {
  digest.l2 *= by;
  digest.max *= by;
  for (float& value : digest.sketch) value *= static_cast<float>(by);
}

TEST(AcrossTest, ADifferenceThatRoundingExplainsIsWithin) {
  Record run = otherClass();
  run.steps[1].values["loss"] += 1e-6;
  const AcrossComparison comparison = compare(run);
  EXPECT_EQ(comparison.outcome, Outcome::kEqual) << describe(comparison);
  EXPECT_EQ(comparison.classes, "isa avx2 against plain");
  EXPECT_EQ(comparison.series.front().series, "loss");
  EXPECT_NE(summaryOf(comparison).find("weaker than bit for bit"), std::string::npos);
}

TEST(AcrossTest, TheBoundIsWhatTheFormulaSays) {
  const AcrossComparison comparison = compare(otherClass());
  // Both classes: 5 products of at most 192 terms a matrix. 31 values are compared.
  const double rounding = std::sqrt(2 * 5 * 192.0);
  ASSERT_EQ(comparison.parts.size(), 1u);
  EXPECT_EQ(comparison.parts[0].unit, "float32");
  EXPECT_NEAR(comparison.parts[0].rounding, rounding, 1e-9);
  const AcrossSeries& loss = seriesIn(comparison, "loss");
  EXPECT_EQ(loss.kind, MetricKind::kUlp);
  const double first = studentQuantile(1e-3 / 31, 8) * rounding * kAnswer;
  EXPECT_NEAR(loss.bound, first / 0x1p-21, 1e-3) << "in ULP of 4.5";
  EXPECT_NEAR(loss.resolution, first / 4.5, 1e-9);
}

TEST(AcrossTest, RoundingsOfAllStepsSoFarAddUp) {
  Record run = otherClass();
  const double first = studentQuantile(1e-3 / 31, 8) * std::sqrt(2 * 5 * 192.0) * kAnswer;
  run.steps[2].values["loss"] += 1.6 * first;  // less than the square root of three steps
  EXPECT_EQ(compare(run).outcome, Outcome::kEqual);
  run.steps[0].values["loss"] += 1.6 * first;
  EXPECT_EQ(compare(run).firstBeyond, 0);
}

TEST(AcrossTest, AnAnswerThatWasStrongerBeforeCountsForTheStepsBehindIt) {
  Golden golden = goldenThatAnswersBy(kAnswer);
  golden.responses["float32"].series["loss"] = {kAnswer, kAnswer / 10, kAnswer / 10};
  Record run = otherClass();
  run.steps[2].values["loss"] += 1.6 * studentQuantile(1e-3 / 31, 8) * std::sqrt(2 * 5 * 192.0) * kAnswer;
  EXPECT_EQ(compareAcross(golden, run, kArithmetic).outcome, Outcome::kEqual);
}

TEST(AcrossTest, AScaledLossAndAScaledGradientAreSeen) {
  Record loss = otherClass();
  loss.steps[2].values["loss"] *= 1 + 1e-3;
  const AcrossComparison scaled = compare(loss);
  EXPECT_EQ(scaled.outcome, Outcome::kDifferent);
  EXPECT_EQ(scaled.firstBeyond, 2);
  EXPECT_EQ(seriesIn(scaled, "loss").beyond, 1u);
  Record gradient = otherClass();
  scale(gradient.gradients[1][1], 1.01);
  const AcrossComparison turned = compare(gradient);
  EXPECT_EQ(turned.outcome, Outcome::kDifferent);
  EXPECT_EQ(turned.firstBeyond, 1);
  EXPECT_EQ(turned.series.front().series.substr(turned.series.front().series.find('/')), "/norm.weight");
}

TEST(AcrossTest, WhatIsExactHasNoBoundAndWhatIsNoNumberNone) {
  Record rate = otherClass();
  rate.steps[0].values["learning_rate"] = std::nextafter(0.001, 1.0);
  EXPECT_EQ(compare(rate).outcome, Outcome::kDifferent);
  Record nan = otherClass();
  nan.steps[1].values["loss"] = std::nan("");
  EXPECT_EQ(compare(nan).firstBeyond, 1);
  Record gone = otherClass();
  gone.steps[1].values.erase("loss");
  EXPECT_EQ(compare(gone).firstBeyond, 1);
}

TEST(AcrossTest, DecisionsMayTurnOverButNotByTheHundred) {
  Record one = otherClass();
  one.steps[1].values["accuracy"] += 0.01;  // of 100
  EXPECT_EQ(compare(one).outcome, Outcome::kEqual);
  Record many = otherClass();
  many.steps[1].values["accuracy"] = 0.5;
  EXPECT_EQ(compare(many).outcome, Outcome::kDifferent);
}

TEST(AcrossTest, ABoundAsLargeAsTheValueIsNoBound) {
  Record run = otherClass();
  run.steps[1].values["loss"] += 1e-6;
  const AcrossComparison comparison = compare(run, 0.1);
  EXPECT_EQ(comparison.outcome, Outcome::kIncomparable);
  EXPECT_NE(comparison.reason.find("could not fail"), std::string::npos) << comparison.reason;
  EXPECT_EQ(seriesIn(comparison, "loss").unresolved, 3u);
}

TEST(AcrossTest, BothClassesCountAndTheCoarserUnitDecides) {
  Arithmetic coarse = kArithmetic;
  coarse.bfloat16Roundings = 54;
  const AcrossComparison missing = compareAcross(goldenThatAnswersBy(kAnswer), otherClass(), coarse);
  EXPECT_EQ(missing.outcome, Outcome::kIncomparable);
  EXPECT_NE(missing.reason.find("a perturbation of bfloat16"), std::string::npos) << missing.reason;
  Golden golden = goldenThatAnswersBy(kAnswer);
  golden.responses["bfloat16"] = golden.responses["float32"];
  const AcrossComparison comparison = compareAcross(golden, otherClass(), coarse);
  ASSERT_EQ(comparison.parts.size(), 1u);
  EXPECT_NEAR(comparison.parts[0].rounding, std::sqrt(54), 1e-3);
}

TEST(AcrossTest, AttentionInBfloat16AddsItsOwnResponseToThatOfTheRest) {
  Arithmetic gpu = kArithmetic;
  gpu.attentionRoundings = 2;
  const AcrossComparison missing = compareAcross(goldenThatAnswersBy(kAnswer), otherClass(), gpu);
  EXPECT_EQ(missing.outcome, Outcome::kIncomparable);
  EXPECT_NE(missing.reason.find("a perturbation of attention"), std::string::npos) << missing.reason;
  Golden golden = goldenThatAnswersBy(kAnswer);
  Response& attention = golden.responses["attention"] = golden.responses["float32"];
  attention.seeds = 5;  // fewer than the other's: what is known least decides
  for (auto& [name, values] : attention.series)
    for (double& value : values) value = 1e-4;
  const AcrossSeries loss = seriesIn(compareAcross(golden, otherClass(), gpu), "loss");
  const double rest = std::sqrt(2 * 5 * 192.0) * kAnswer, own = std::sqrt(2) / 2 * 1e-4;
  EXPECT_NEAR(loss.resolution, studentQuantile(1e-3 / 31, 5) * std::hypot(rest, own) / 4.5, 1e-9);
}

TEST(AcrossTest, AGoldenWithoutResponsesIsIncomparableAndSaysWhatToDo) {
  const AcrossComparison comparison = compareAcross({exampleRecord(), {}}, otherClass(), kArithmetic);
  EXPECT_EQ(comparison.outcome, Outcome::kIncomparable);
  EXPECT_NE(comparison.reason.find("--perturb"), std::string::npos);
}

TEST(ResponseTest, IsTheRootMeanSquareOverTheSeeds) {
  std::vector<Record> perturbed(4, exampleRecord());
  for (std::size_t i = 0; i < perturbed.size(); ++i) {
    perturbed[i].steps[1].values["loss"] += (i % 2 == 0 ? 2e-7 : -2e-7);
    perturbed[i].gradients[2][0].sketch[5] += 0.5f;
  }
  const Response response = measureResponse(exampleRecord(), perturbed, "abc");
  EXPECT_EQ(response.seeds, 4);
  EXPECT_EQ(response.series.at("loss")[0], 0);
  EXPECT_NEAR(response.series.at("loss")[1], 2e-7, 1e-12);
  EXPECT_DOUBLE_EQ(response.series.at("gradient/fc.weight")[2], 0.5);
  EXPECT_EQ(response.series.at("gradient/norm.weight")[2], 0);
  perturbed.resize(2);
  EXPECT_THROW(measureResponse(exampleRecord(), perturbed, "abc"), std::exception);
}

TEST(ResponseTest, RulesAndResponsesAreKeptInTheGoldenAndInheritedByTheNext) {
  const TemporaryFolder folder;
  Golden golden = goldenThatAnswersBy(kAnswer);
  golden.record.gradients[1].clear();
  golden.responses["float32"].series["gradient/fc.weight"][1] = std::nan("");
  golden.rules = defaultRules();
  golden.rules["loss"] = {MetricKind::kExact, "this one is computed in integers"};
  const std::string path = joinPath(folder.path(), "golden.json");
  overwrite(path, numericsText(golden));
  const Golden read = loadGolden(path);
  EXPECT_EQ(read.rules, golden.rules);
  EXPECT_EQ(read.arithmetic, golden.arithmetic);
  EXPECT_DOUBLE_EQ(read.responses.at("float32").series.at("loss")[2], kAnswer);
  EXPECT_TRUE(std::isnan(read.responses.at("float32").series.at("gradient/fc.weight")[1]));
  Golden next{exampleRecord(), {}};
  inheritHistory(next, read);
  EXPECT_EQ(next.rules, golden.rules);
  EXPECT_EQ(next.responses.size(), 1u);
}

}  // namespace
}  // namespace redraft::golden
