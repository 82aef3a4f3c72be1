#include "base/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/hash.h"

namespace redraft {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(PhiloxTest, GivesThePublishedKnownAnswers) {
  // philox4x32 with 10 rounds, from the known-answer vectors of the Random123 distribution.
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CounterRngTest, EqualKeysGiveEqualStreams) {
  CounterRng a(7, "anchors", 3, 11), b(7, "anchors", 3, 11);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next32(), b.next32());
}

TEST(CounterRngTest, ACopyGoesOnFromTheSamePlace) {
  CounterRng rng(7, "anchors");
  rng.normal();  // leaves the second normal of the pair, and half a block
  CounterRng copy = rng;
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(copy.normal(), rng.normal());
    EXPECT_EQ(copy.next32(), rng.next32());
  }
}

TEST(CounterRngTest, EveryPartOfTheKeyChangesTheStream) {
  std::set<std::uint64_t> first;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32, 1ull << 63}) {
    for (const char* purpose : {"", "a", "b", "ab"}) {
      for (const std::uint64_t a : {0ull, 1ull, 1ull << 40}) {
        for (const std::uint64_t b : {0ull, 1ull, 1ull << 40}) {
          first.insert(CounterRng(seed, purpose, a, b).next64());
        }
      }
    }
  }
  EXPECT_EQ(first.size(), 4u * 4 * 3 * 3);
}

TEST(CounterRngTest, StreamsNeverChangeBetweenVersions) {
  // Every baseline depends on these draws: a difference here invalidates all of them.
  CounterRng rng(1234, "pinned", 5, 6);
  std::vector<double> draws;
  for (int i = 0; i < 1000; ++i) {
    draws.push_back(rng.next32());
    draws.push_back(static_cast<double>(rng.next64() >> 11));
    draws.push_back(rng.uniform());
    draws.push_back(static_cast<double>(rng.below(1 + static_cast<std::uint64_t>(i))));
    draws.push_back(rng.normal());
  }
  EXPECT_EQ(hashBytes(draws.data(), draws.size() * sizeof(double)), "489f1b49f702d7c46088f1c73ea8aa71");
}

TEST(CounterRngTest, SkippingGoesToWhereDrawingWouldHaveGone) {
  CounterRng drawn(7, "parameters", 1);
  for (int k = 0; k < 10; ++k) drawn.normal();
  CounterRng skipped(7, "parameters", 1);
  skipped.skipNormalPairs(5);
  for (int k = 0; k < 10; ++k) EXPECT_EQ(drawn.normal(), skipped.normal()) << k;
  CounterRng far(7, "parameters", 1), farther = far;
  far.skipNormalPairs(std::uint64_t{1} << 32);
  farther.skipNormalPairs((std::uint64_t{1} << 32) - 1);
  farther.normal(), farther.normal();
  EXPECT_EQ(far.normal(), farther.normal());
}

TEST(CounterRngTest, UniformStaysBelowOneAndFillsTheInterval) {
  CounterRng rng(1, "uniform");
  constexpr int kDraws = 100000, kBins = 10;
  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) {
    const float value = rng.uniform();
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    ++bins[static_cast<std::size_t>(value * kBins)];
  }
  const double expected = static_cast<double>(kDraws) / kBins, sigma = std::sqrt(expected * (1 - 1.0 / kBins));
  for (const int count : bins) EXPECT_LT(std::fabs(count - expected), 5 * sigma);
}

TEST(CounterRngTest, BelowIsUnbiasedWhereARemainderWouldNotBe) {
  // 3 · 2^62: a remainder of 64 bits would hit the lowest third twice as often as the others.
  constexpr std::uint64_t kThird = 1ull << 62, kBound = 3 * kThird;
  constexpr int kDraws = 30000;
  CounterRng rng(2, "below");
  std::vector<int> thirds(3);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t value = rng.below(kBound);
    ASSERT_LT(value, kBound);
    ++thirds[value / kThird];
  }
  const double expected = kDraws / 3.0, sigma = std::sqrt(expected * 2 / 3);
  for (const int count : thirds) EXPECT_LT(std::fabs(count - expected), 5 * sigma);
}

TEST(CounterRngTest, BelowReachesEveryValueOfASmallBound) {
  CounterRng rng(3, "below");
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(7));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(CounterRngDeathTest, BelowZeroIsRefused) {
  CounterRng rng(3, "below");
  EXPECT_DEATH(rng.below(0), "positive bound");
}

TEST(CounterRngTest, NormalHasTheMomentsOfAStandardNormal) {
  CounterRng rng(4, "normal");
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard errors; variances of x, x² and x⁴ are 1, 2 and 96.
  EXPECT_LT(std::fabs(sum / kDraws), 5 * std::sqrt(1.0 / kDraws));
  EXPECT_LT(std::fabs(squares / kDraws - 1), 5 * std::sqrt(2.0 / kDraws));
  EXPECT_LT(std::fabs(fourth / kDraws - 3), 5 * std::sqrt(96.0 / kDraws));
}

}  // namespace
}  // namespace redraft
