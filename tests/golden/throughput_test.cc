// Verdicts on blocks whose truth is known.
#include "golden/throughput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "golden/signed_rank.h"

namespace redraft::golden {
namespace {

constexpr double kMargin = 0.01, kError = 0.01;

/// Pairs on a machine whose speed drifts: both blocks share the drift, each has noise of its own, and now and then one
/// is disturbed.
class Machine {
 public:
  explicit Machine(unsigned seed, double noise = 0.006) : random_(seed), noise_(0, noise) {}

  BlockPair pair(double slowdown) {
    drift_ += 0.01 * normal_(random_);
    const bool aFirst = coin_(random_);
    // What comes second is always a little slower here: the order must not decide.
    const double a = block(aFirst ? 0 : 0.004), b = slowdown * block(aFirst ? 0.004 : 0);
    return {{a, a, std::nullopt, ""}, {b, b, std::nullopt, ""}};
  }
  std::vector<BlockPair> pairs(int count, double slowdown) {
    std::vector<BlockPair> pairs;
    for (int i = 0; i < count; ++i) pairs.push_back(pair(slowdown));
    return pairs;
  }

 private:
  double block(double late) {
    const double disturbed = rare_(random_) ? 0.1 : 0;
    return 0.02 * std::exp(drift_ + late + disturbed + noise_(random_));
  }

  std::mt19937 random_;
  std::normal_distribution<double> normal_, noise_;
  std::bernoulli_distribution coin_{0.5}, rare_{0.03};
  double drift_ = 0;
};

/// Turns on a machine whose speed wanders from turn to turn, which is far more than what is looked for.
BlockPair pairByTurns(std::mt19937& random, double slowdown, int turns = 10) {
  std::normal_distribution<double> step(0, 0.05), noise(0, 0.01), draw(0, 0.003);
  const bool aFirst = std::bernoulli_distribution(0.5)(random);
  double speed = 0;
  const auto turn = [&](double of) {
    speed += step(random);
    return 0.02 * of * std::exp(speed + noise(random));
  };
  std::vector<double> a, b;
  const double ofB = slowdown * std::exp(draw(random));  // what the process drew once
  for (int i = 0; i < turns; ++i) {
    if (aFirst) a.push_back(turn(1));
    b.push_back(turn(ofB));
    if (!aFirst) a.push_back(turn(1));
  }
  BlockPair pair{{a[0], a[0], std::nullopt, ""}, {b[0], b[0], std::nullopt, ""}};
  const double ratio = turnRatio(a, b, aFirst);
  pair.turns = TurnRatio{ratio, ratio};
  return pair;
}

/// What a bench says that looks as planLooks() has it look.
ThroughputVerdict benchVerdict(Machine& machine, int planned, double slowdown) {
  std::vector<BlockPair> pairs;
  ThroughputVerdict verdict = ThroughputVerdict::kAmbiguous;
  for (const Look& look : planLooks(planned, kError)) {
    while (static_cast<int>(pairs.size()) < look.pairs) pairs.push_back(machine.pair(slowdown));
    verdict = answerOf(pairs, kMargin, look.error).verdict;
    if (verdict != ThroughputVerdict::kAmbiguous) break;
  }
  return verdict;
}

std::map<ThroughputVerdict, int> countVerdicts(int rounds, int planned, double slowdown) {
  Machine machine(17);
  std::map<ThroughputVerdict, int> counts;
  for (int round = 0; round < rounds; ++round) ++counts[benchVerdict(machine, planned, slowdown)];
  return counts;
}

TEST(TurnRatioTest, IsOfNeighboursSoThatADriftIsNotInIt) {
  const std::vector<double> a = {1.00, 1.02, 1.04, 1.06},
                            b = {1.01, 1.03, 1.05, 1.07};  // the same, on a slowing machine
  EXPECT_NEAR(turnRatio(a, b, true), 1, 1e-4);
  EXPECT_NEAR(turnRatio(b, a, false), 1, 1e-4);
  const std::vector<double> disturbed = {1, 1, 1, 7, 1, 1, 1, 1, 1}, twice(9, 2);
  EXPECT_DOUBLE_EQ(turnRatio(disturbed, twice, true), 2);
  EXPECT_DOUBLE_EQ(turnRatio({1}, {3}, false), 3);
}

TEST(TurnRatioTest, ExchangedNamesGiveTheReciprocal) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> time(0.5, 2);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> a(6), b(6);
    for (double& each : a) each = time(random);
    for (double& each : b) each = time(random);
    EXPECT_NEAR(turnRatio(a, b, true) * turnRatio(b, a, false), 1, 1e-12);
  }
}

TEST(ThroughputTest, TurnsFindWhatBlocksOnAWanderingMachineCannot) {
  for (const double slowdown : {1.0, 1.02}) {
    std::mt19937 random(11);
    int found = 0, byBlocks = 0;
    for (int round = 0; round < 200; ++round) {
      std::vector<BlockPair> pairs, blocks;
      for (int i = 0; i < 24; ++i) {
        pairs.push_back(pairByTurns(random, slowdown));
        blocks.push_back(pairs.back());
        blocks.back().turns.reset();
      }
      found += answerOf(pairs, kMargin, kError).verdict == ThroughputVerdict::kSlower ? 1 : 0;
      byBlocks += answerOf(blocks, kMargin, kError).verdict == ThroughputVerdict::kSlower ? 1 : 0;
    }
    if (slowdown == 1.0)
      EXPECT_LE(found, 2);
    else
      EXPECT_GT(found, 2 * byBlocks) << byBlocks;
  }
}

TEST(ThroughputTest, IdenticalBuildsAreCalledDifferentInAtMostOneBenchOfAHundred) {
  constexpr int kRounds = 2000;
  auto counts = countVerdicts(kRounds, 96, 1);
  EXPECT_LE(counts[ThroughputVerdict::kSlower] + counts[ThroughputVerdict::kFaster], 0.01 * kRounds);
  EXPECT_GT(counts[ThroughputVerdict::kSame], 0.9 * kRounds);
}

TEST(ThroughputTest, ASlowdownOfTwoPercentIsFoundInNineBenchesOfTen) {
  constexpr int kRounds = 500;
  EXPECT_GE(countVerdicts(kRounds, 96, 1.02)[ThroughputVerdict::kSlower], 0.9 * kRounds);
  EXPECT_GE(countVerdicts(kRounds, 96, 1 / 1.02)[ThroughputVerdict::kFaster], 0.9 * kRounds);
}

TEST(ThroughputTest, ADifferenceBelowTheMarginIsNeverSlowerWhenTheIntervalIsNarrow) {
  Machine machine(3);
  const PairedAnswer answer = answerOf(machine.pairs(400, 1.003), kMargin, kError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kSame) << ratioText(*answer.time);
  EXPECT_EQ(answer.pairs, 400);
}

TEST(ThroughputTest, TheRuleGoesByIntervalAndMargin) {
  const auto verdict = [](double ratio, double low, double high) { return verdictOf({ratio, low, high}, kMargin); };
  EXPECT_EQ(verdict(1.02, 1.001, 1.04), ThroughputVerdict::kSlower);
  EXPECT_EQ(verdict(0.98, 0.96, 0.999), ThroughputVerdict::kFaster);
  EXPECT_EQ(verdict(1.002, 0.995, 1.009), ThroughputVerdict::kSame);
  EXPECT_EQ(verdict(1.005, 1.001, 1.009), ThroughputVerdict::kSame);       // there, and no matter
  EXPECT_EQ(verdict(1.008, 1.001, 1.015), ThroughputVerdict::kAmbiguous);  // there, of unknown size
  EXPECT_EQ(verdict(1.02, 0.99, 1.05), ThroughputVerdict::kAmbiguous);
  EXPECT_EQ(verdict(1.5, 0, INFINITY), ThroughputVerdict::kAmbiguous);
}

TEST(ThroughputTest, TooFewPairsAreAmbiguousAndSayWhy) {
  Machine machine(5);
  const PairedAnswer few = answerOf(machine.pairs(7, 2.0), kMargin, kError);
  EXPECT_EQ(few.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_EQ(few.reason, "too few pairs for an interval");
  const PairedAnswer none = answerOf({}, kMargin, kError);
  EXPECT_EQ(none.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_FALSE(none.time);
}

TEST(ThroughputTest, FewStepsThatAreSlowShowInTheMeanAlone) {
  Machine machine(6);
  std::vector<BlockPair> pairs = machine.pairs(60, 1);
  for (BlockPair& pair : pairs) pair.b.meanSeconds *= 1.05;
  const PairedAnswer answer = answerOf(pairs, kMargin, kError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kSame);
  EXPECT_EQ(verdictOf(*answer.mean, kMargin), ThroughputVerdict::kSlower);
}

// --- clocks --------------------------------------------------------------------------------------------------------

/// Pairs on a GPU at 1980 MHz, whose time follows the clock.
std::vector<BlockPair> gpuPairs(int count, double slowdown) {
  Machine machine(9, 0.001);
  std::vector<BlockPair> pairs = machine.pairs(count, slowdown);
  int i = 0;
  for (BlockPair& pair : pairs)
    for (Block* block : {&pair.a, &pair.b}) block->clockMhz = 1980 + 5 * (i++ % 3);
  return pairs;
}

void slowClock(Block& block, double part) {
  *block.clockMhz *= part;
  block.seconds /= part;
  block.meanSeconds /= part;
}

TEST(ThroughputClockTest, ADifferenceThatCyclesConfirmStands) {
  const PairedAnswer answer = answerOf(gpuPairs(40, 1.03), kMargin, kError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kSlower);
  ASSERT_TRUE(answer.cycles);
  EXPECT_NEAR(answer.cycles->ratio, 1.03, 0.003);
}

TEST(ThroughputClockTest, TimeThatMovedWithTheClockIsAmbiguous) {
  std::vector<BlockPair> pairs = gpuPairs(40, 1);
  for (BlockPair& pair : pairs) slowClock(pair.b, 0.95);
  const PairedAnswer answer = answerOf(pairs, kMargin, kError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_NE(answer.reason.find("cycles did not"), std::string::npos) << answer.reason;
  EXPECT_EQ(answer.pairs, 40) << "builds that differ in their clock are not throttled";
}

TEST(ThroughputClockTest, AClockThatIsNotKnownConfirmsNothingAndRefusesNothing) {
  std::vector<BlockPair> pairs = gpuPairs(40, 1.03);
  pairs[3].a.clockMhz.reset();
  const PairedAnswer answer = answerOf(pairs, kMargin, kError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kSlower);
  EXPECT_FALSE(answer.cycles);
}

TEST(ThroughputClockTest, ThrottledPairsAreLeftOutAndSaidSo) {
  std::vector<BlockPair> pairs = gpuPairs(40, 1);
  slowClock(pairs[5].b, 0.7);
  slowClock(pairs[11].a, 0.7);
  pairs[20].b.slowdown = "thermal slowdown";
  const PairedAnswer answer = answerOf(pairs, kMargin, kError);
  EXPECT_EQ(answer.pairs, 37);
  EXPECT_NE(answer.excluded[5].find("B throttled: 13"), std::string::npos) << answer.excluded[5];
  EXPECT_EQ(answer.excluded[11].substr(0, 11), "A throttled");
  EXPECT_EQ(answer.excluded[20], "B throttled: thermal slowdown");
  EXPECT_EQ(answer.excluded[6], "");
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kSame) << answer.reason;
}

TEST(ThroughputClockTest, AMachineThatThrottlesMostOfTheTimeIsAmbiguousNotEmpty) {
  std::vector<BlockPair> pairs = gpuPairs(40, 1.05);
  for (int i = 0; i < 20; ++i) (i % 2 == 0 ? pairs[i].a : pairs[i].b).slowdown = "power brake";
  const PairedAnswer answer = answerOf(pairs, kMargin, kError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_NE(answer.reason.find("20 of 40 pairs were throttled"), std::string::npos) << answer.reason;
  for (BlockPair& pair : pairs) pair.a.slowdown = "power brake";
  EXPECT_EQ(answerOf(pairs, kMargin, kError).verdict, ThroughputVerdict::kAmbiguous);
}

TEST(ThroughputClockTest, OneSideThatThrottlesMoreOftenIsNoAccident) {
  std::vector<BlockPair> pairs = gpuPairs(40, 1);
  for (int i = 0; i < 10; ++i) pairs[3 * i].b.slowdown = "thermal slowdown";
  const PairedAnswer answer = answerOf(pairs, kMargin, kError);
  EXPECT_EQ(answer.verdict, ThroughputVerdict::kAmbiguous);
  EXPECT_NE(answer.reason.find("0 by A and 10 by B"), std::string::npos) << answer.reason;
}

TEST(LookPlanTest, SpendsTheWholeErrorAndNoMore) {
  for (const int pairs : {12, 23, 24, 47, 48, 96, 100, 1000}) {
    double spent = 0;
    int before = 0;
    for (const Look& look : planLooks(pairs, kError)) {
      EXPECT_GT(look.pairs, before);
      EXPECT_GE(look.pairs, kFewestPairs);
      EXPECT_GE(look.pairs, fewestValues(look.error)) << pairs;  // or the look could say nothing
      before = look.pairs;
      spent += look.error;
    }
    EXPECT_EQ(before, pairs);
    EXPECT_NEAR(spent, kError, 1e-12);
  }
}

}  // namespace
}  // namespace redraft::golden
