#include "golden/stored_throughput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "base/files.h"
#include "golden/golden.h"
#include "golden/student.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

constexpr double kStoredMargin = 0.01, kStoredError = 0.01;
const PerformanceClass kMachine{{{"cpu", "X"}, {"cores", "2"}, {"memory_gib", "8"}}};

StoredSide side(Rates rates) { return {kMachine, std::move(rates)}; }

Rates noisyRuns(std::mt19937& random, int count, double rate, double spread) {
  std::normal_distribution<double> noise(0, spread);
  Rates rates;
  for (int i = 0; i < count; ++i) rates.push_back(rate * std::exp(noise(random)));
  return rates;
}

TEST(StoredThroughputTest, OneRunASideWithNoRecordedSpreadIsAmbiguousAndSaysWhatToRecord) {
  const StoredAnswer answer = compareStored(side({1000}), side({500}), {}, kStoredMargin, kStoredError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_FALSE(answer.time);
  EXPECT_NE(answer.reason.find("redraft bless RUN --repeats"), std::string::npos) << answer.reason;
}

TEST(StoredThroughputTest, OneRunASideIsJudgedByTheMachinesRecordedSpread) {
  std::mt19937 random(1);
  const std::vector<Rates> recorded = {noisyRuns(random, 12, 1000, 0.004)};
  const StoredAnswer slower = compareStored(side({1000}), side({900}), recorded, kStoredMargin, kStoredError);
  EXPECT_EQ(slower.verdict, ThroughputVerdict::kSlower) << describe(slower);
  EXPECT_NEAR(slower.time->ratio, 1000.0 / 900, 1e-9);
  EXPECT_EQ(slower.degrees, 11);
  EXPECT_NEAR(slower.spread, 0.004, 0.002);
  const StoredAnswer close = compareStored(side({1000}), side({990}), recorded, kStoredMargin, kStoredError);
  EXPECT_EQ(close.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_EQ(compareStored(side({900}), side({1000}), recorded, kStoredMargin, kStoredError).verdict,
            ThroughputVerdict::kFaster);
}

TEST(StoredThroughputTest, TheMeanOfSeveralRunsIsKnownBetterThanOneRun) {
  std::mt19937 random(3);
  const std::vector<Rates> recorded = {noisyRuns(random, 12, 1000, 0.004)};
  const StoredAnswer one = compareStored(side({1000}), side({1010}), recorded, kStoredMargin, kStoredError);
  EXPECT_DOUBLE_EQ(one.half, studentQuantile(kStoredError, 11) * one.spread * std::sqrt(2.0));
  const StoredAnswer many =
      compareStored(side({1000, 1004, 998}), side({1010, 1007, 1012}), recorded, kStoredMargin, kStoredError);
  EXPECT_DOUBLE_EQ(many.half, studentQuantile(kStoredError, 15) * many.spread * std::sqrt(1 / 3.0 + 1 / 3.0));
}

TEST(StoredThroughputTest, SaysHowMuchNarrowerABenchWouldBe) {
  // Slow drift, quiet neighbours: pairing takes the drift out.
  Rates drifting;
  for (int i = 0; i < 16; ++i) drifting.push_back(1000 * std::exp(0.01 * i + (i % 2) * 0.001));
  const StoredAnswer answer = compareStored(side({1000}), side({1000}), {drifting}, kStoredMargin, kStoredError);
  ASSERT_TRUE(answer.pairedHalf);
  EXPECT_LT(*answer.pairedHalf, answer.half / 3);
  EXPECT_NE(describe(answer).find("a bench of 12 pairs, by turns, about ± "), std::string::npos) << describe(answer);
}

TEST(StoredThroughputTest, ABenchIsForeseenFromRunsNextToEachOther) {
  const Rates recorded = {1000, 1000 * std::exp(0.01), 1200, 1200 * std::exp(0.03)};
  const StoredAnswer answer = compareStored(side({1000}), side({1000}), {recorded}, kStoredMargin, kStoredError);
  const double squares = (0.01 * 0.01 + 0.03 * 0.03) / 2;  // of the two pairs; 1010 and 1200 are none
  EXPECT_NEAR(answer.pairedHalf.value(),
              studentQuantile(kStoredError, kFewestPairs - 1) * std::sqrt(squares / kFewestPairs), 1e-12);
}

TEST(StoredThroughputTest, EqualCodeIsCalledDifferentAsRarelyAsItSays) {
  std::mt19937 random(2);
  constexpr int kRounds = 4000;
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto a = side(noisyRuns(random, 3, 1000, 0.02)), b = side(noisyRuns(random, 3, 1000, 0.02));
    const ThroughputVerdict verdict = compareStored(a, b, {}, kStoredMargin, kStoredError).verdict;
    wrong += verdict == ThroughputVerdict::kFaster || verdict == ThroughputVerdict::kSlower ? 1 : 0;
  }
  EXPECT_LT(wrong, 0.01 * kRounds + 3 * std::sqrt(0.01 * kRounds));
}

TEST(StoredThroughputTest, AnotherMachineIsRefused) {
  StoredSide other = side({1000, 1001, 999});
  other.performanceClass->fields["cpu"] = "Y";
  const StoredAnswer answer = compareStored(side({1000, 1002, 998}), other, {}, kStoredMargin, kStoredError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_EQ(answer.reason.find("another machine: "), 0u) << answer.reason;
  other.performanceClass.reset();
  EXPECT_NE(compareStored(side({1000}), other, {}, kStoredMargin, kStoredError).reason.find("on which machine"),
            std::string::npos);
}

// --- the golden that records the spread ----------------------------------------------------------------------------

TEST(RepeatedRunsTest, ABlessOfSeveralRunsRecordsTheirRates) {
  const TemporaryFolder folder;
  Record run = exampleRecord(), repeat = exampleRecord();
  for (double& sample : repeat.samples["all"].tokensPerSecond) sample *= 1.02;
  bless(run, folder.path(), "tiny", {"commit", "command", "reason", "date", "version", {}, ""}, {},
        ratesOf(run, {repeat}));
  const Golden golden = *findPerformance(folder.path(), "tiny", *run.performanceClass);
  ASSERT_EQ(golden.runRates.at("all").size(), 2u);
  EXPECT_NEAR(golden.runRates.at("all")[1] / golden.runRates.at("all")[0], 1.02, 1e-12);
  EXPECT_EQ(storedSide(golden).rates, golden.runRates.at("all"));
  EXPECT_EQ(storedSide(exampleRecord()).rates.size(), 1u);
}

TEST(RepeatedRunsTest, RunsOfOtherCodeOrOfAnotherMachineAreRefused) {
  const auto refusal = [](const Record& repeat) {
    Record run = exampleRecord();
    try {
      ratesOf(run, {repeat});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Record other = exampleRecord();
  other.steps[0].values["loss"] += 1;
  EXPECT_NE(refusal(other).find("has other numbers"), std::string::npos);
  other = exampleRecord();
  other.performanceClass->fields["cpu"] = "Y";
  EXPECT_NE(refusal(other).find("another scenario or machine"), std::string::npos);
  other = exampleRecord();
  other.samples.erase("all");
  EXPECT_NE(refusal(other).find("no throughput of all"), std::string::npos);
}

}  // namespace
}  // namespace redraft::golden
