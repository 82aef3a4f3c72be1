#include "harness/bench/turn_pair.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/bench/bench.h"

namespace redraft::harness {
namespace {

constexpr double kNever = 99;  // seconds that must not count

/// Of a warm-up of one step, three turns of three, and a step in which the run ends.
BenchBlock blockOfTurns(double one, double two, double three) {
  BenchBlock block;
  block.seconds = {kNever, kNever, one, one, kNever, two, two, kNever, three, three, kNever};
  block.tokens.assign(block.seconds.size(), 10);
  return block;
}

BenchPair pairOf(const BenchBlock& a, const BenchBlock& b) {
  BenchPair pair;
  pair.order = "AB";
  pair.a = a;
  pair.b = b;
  return pair;
}

BenchOptions byTurns(int turn) {
  BenchOptions options;
  options.warmup = 1;
  options.turn = turn;
  return options;
}

TEST(TurnPairTest, TurnsAreWholeAndWithoutTheirFirstStep) {
  EXPECT_EQ(turnsWithin(11, 1, 3), 3);
  EXPECT_EQ(turnsWithin(10, 1, 3), 2) << "in the last step a run ends";
  EXPECT_EQ(turnsWithin(3, 3, 3), 0);
  EXPECT_EQ(secondsByTurn(blockOfTurns(1, 2, 4).seconds, 1, 3),
            (std::vector<std::vector<double>>{{1, 1}, {2, 2}, {4, 4}}));
}

TEST(TurnPairTest, AMachineThatSlowsFromTurnToTurnIsNotInThePairsRatio) {
  // A, B, A, B, A, B on a machine that takes the square root of two longer at each: B is 1.5 / √2 of A.
  const BenchPair pair = pairOf(blockOfTurns(1, 2, 4), blockOfTurns(1.5, 3, 6));
  const golden::BlockPair blocks = blockPairOf(pair, byTurns(3), false);
  EXPECT_DOUBLE_EQ(golden::timeRatio(blocks), 1.5 / std::sqrt(2));
  ASSERT_TRUE(blocks.turns);
  EXPECT_DOUBLE_EQ(blocks.turns->mean, 1.5 / std::sqrt(2));
  EXPECT_DOUBLE_EQ(blocks.b.seconds / blocks.a.seconds, 1.5) << "what the blocks alone would say";
}

TEST(TurnPairTest, TokensCountTurnByTurnToo) {
  BenchPair pair = pairOf(blockOfTurns(1, 1, 1), blockOfTurns(3, 3, 3));
  pair.order = "BA";
  pair.b.tokens.assign(pair.b.seconds.size(), 20);
  EXPECT_DOUBLE_EQ(golden::timeRatio(blockPairOf(pair, byTurns(3), true)), 1.5);
}

}  // namespace
}  // namespace redraft::harness
