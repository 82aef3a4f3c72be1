// Runs of the training itself in two numerics classes, held to the bound that perturbed runs give: the class changes
// and stays within, and planted errors do not.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/files.h"
#include "golden/across.h"
#include "golden/distance.h"
#include "golden/golden.h"
#include "scenarios/cli/arithmetic.h"
#include "tests/paths.h"
#include "tests/scenarios/runner/run_folder.h"

namespace redraft::scenarios {
namespace {

constexpr int kSeeds = 8;
constexpr int kSteps = 6;

/// Dense attention: LibTorch's own products and softmax are in it, so that the instruction set shows.
Scenario dense() {
  Scenario scenario = shipped("dual-drafter/compile-disabled");
  scenario.training.steps = kSteps;
  return scenario;
}

golden::Record recordOf(const std::function<void(Scenario&)>& change = nullptr) {
  const RunFolder folder(dense(), change);
  const int status = folder.run();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << folder.log();
  return golden::loadRun(folder.path());
}

golden::Record perturbed(std::uint64_t seed) {
  return recordOf([seed](Scenario& scenario) { scenario.perturbation = PerturbationSpec{seed, "float32"}; });
}

golden::Arithmetic arithmetic() { return *arithmeticOf(dense(), std::string(kSourceFolder) + "/scenarios"); }

/// A golden with the response of perturbed runs; made once, for it takes a run a seed.
const golden::Golden& measured() {
  static const golden::Golden kGolden = [] {
    golden::Golden golden{recordOf(), {}};
    std::vector<golden::Record> runs;
    for (int seed = 1; seed <= kSeeds; ++seed) runs.push_back(perturbed(static_cast<std::uint64_t>(seed)));
    golden.arithmetic = arithmetic();
    golden.responses["float32"] = golden::measureResponse(golden.record, runs, "this");
    return golden;
  }();
  return kGolden;
}

std::string bitsOf(const golden::Record& record) {
  std::string text;
  for (const golden::StepMetrics& step : record.steps) text += step.parametersHash;
  return text;
}

TEST(AcrossClassesTest, APerturbedRunIsAFunctionOfItsSeed) {
  const golden::Record one = perturbed(1);
  EXPECT_EQ(bitsOf(one), bitsOf(perturbed(1)));
  EXPECT_NE(bitsOf(one), bitsOf(perturbed(2)));
  EXPECT_NE(bitsOf(one), bitsOf(measured().record));
}

/// The drafter's training with compiled attention, and what it reads and makes there moved.
golden::Record attentionMoved(std::optional<std::uint64_t> seed) {
  Scenario scenario = shipped("dual-drafter");
  scenario.training.steps = 2;
  if (seed) scenario.perturbation = PerturbationSpec{*seed, "attention"};
  const RunFolder folder(scenario);
  const int status = folder.run();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << folder.log();
  return golden::loadRun(folder.path());
}

TEST(AcrossClassesTest, MovesOfAttentionAreAFunctionOfTheirSeedAndAsLargeAsBfloat16Rounds) {
  const golden::Record plain = attentionMoved(std::nullopt), one = attentionMoved(1);
  EXPECT_EQ(bitsOf(one), bitsOf(attentionMoved(1)));
  EXPECT_NE(bitsOf(one), bitsOf(attentionMoved(2)));
  for (std::size_t p = 0; p < plain.parameters.size(); ++p) {
    const double moved = golden::sketchDistance(plain.gradients[0][p], one.gradients[0][p]);
    EXPECT_GT(moved, 1e-6) << plain.parameters[p] << " did not notice";
    EXPECT_LT(moved, 0.1) << plain.parameters[p] << " was moved by more than rounding";
  }
}

struct ClassChange {
  const char* name;
  std::function<void(Scenario&)> apply;
};

class ClassChangeTest : public ::testing::TestWithParam<ClassChange> {
 protected:
  ClassChangeTest() : run_(recordOf(GetParam().apply)) {}
  golden::AcrossComparison compare() const { return golden::compareAcross(measured(), run_, arithmetic()); }
  void expectSeen(const std::string& series) const {
    const golden::AcrossComparison comparison = compare();
    EXPECT_EQ(comparison.outcome, golden::Outcome::kDifferent) << golden::describe(comparison);
    EXPECT_EQ(comparison.firstBeyond, 0) << golden::describe(comparison);
    EXPECT_EQ(comparison.series.front().series, series) << golden::describe(comparison);
  }

  golden::Record run_;
};

TEST_P(ClassChangeTest, StaysWithinABoundThatIsNotIdle) {
  ASSERT_FALSE(run_.numericsClass == measured().record.numericsClass);
  const golden::AcrossComparison comparison = compare();
  EXPECT_EQ(comparison.outcome, golden::Outcome::kEqual) << golden::describe(comparison);
  for (const golden::AcrossSeries& series : comparison.series) {
    if (series.kind != golden::MetricKind::kUlp && series.kind != golden::MetricKind::kRelative) continue;
    EXPECT_EQ(series.unresolved, 0u) << series.series;
    // A fifth of what is planted below.
    EXPECT_LT(series.resolution, series.series == "loss" ? 2e-4 : 2e-3) << series.series << " sees nothing smaller";
  }
  RecordProperty("used_percent", static_cast<int>(100 * comparison.series.front().used()));
  std::printf("%s\n%s", GetParam().name, golden::describe(comparison).c_str());
}

TEST_P(ClassChangeTest, ALossThatIsOffByAThousandthIsSeen) {
  run_.steps[0].values["loss"] *= 1 + 1e-3;
  expectSeen("loss");
}

TEST_P(ClassChangeTest, AGradientThatIsOffByAHundredthIsSeen) {
  golden::GradientDigest& digest = run_.gradients[0].at(3);
  digest.l2 *= 1.01;
  digest.max *= 1.01;
  for (float& value : digest.sketch) value *= 1.01f;
  const golden::AcrossComparison comparison = compare();
  ASSERT_EQ(comparison.outcome, golden::Outcome::kDifferent) << golden::describe(comparison);
  EXPECT_TRUE(comparison.series.front().series.ends_with(run_.parameters.at(3))) << golden::describe(comparison);
}

INSTANTIATE_TEST_SUITE_P(Changes, ClassChangeTest,
                         ::testing::Values(ClassChange{"plain", [](Scenario& scenario) { scenario.isa = "default"; }},
                                           ClassChange{"threads", [](Scenario& scenario) { scenario.threads = 2; }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace redraft::scenarios
