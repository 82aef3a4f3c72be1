#include "base/exact_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "base/philox.h"

namespace redraft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kSamples = 100000;

double uniform(CounterRng& rng, double low, double high) {
  return low + (high - low) * static_cast<double>(rng.next64() >> 11) * 0x1p-53;
}

/// Any magnitude from 2^low to 2^high.
double anyScale(CounterRng& rng, int low, int high) {
  const int exponent = low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low)));
  return std::ldexp(uniform(rng, 1, 2), exponent);
}

/// |got - want| in units of the last place of a double near `want`; `want` has 64 bits of precision.
double ulps(double got, long double want) {
  const int exponent = std::max(std::ilogb(want), -1022) - 52;
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent));
}

/// The largest error over `kSamples` draws, against the C library's long double.
double worst(const std::function<double(double)>& ours, long double (*theirs)(long double),
             const std::function<double(CounterRng&)>& draw) {
  CounterRng rng(1, "exact math");
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double x = draw(rng);
    worst = std::max(worst, ulps(ours(x), theirs(x)));
  }
  return worst;
}

TEST(ExactExpTest, IsWithinOneUlp) {
  const auto within = [](double low, double high) {
    return worst(exactExp, expl, [=](CounterRng& rng) { return uniform(rng, low, high); });
  };
  EXPECT_LE(within(-0.4, 0.4), 1);
  EXPECT_LE(within(-20, 20), 1);
  EXPECT_LE(within(-708, 709.7), 1);
  EXPECT_LE(within(-745, -708), 1);  // subnormal results
  EXPECT_LE(worst(exactExp, expl, [](CounterRng& rng) { return -anyScale(rng, -60, 3); }), 1);
}

TEST(ExactExpTest, EndsInInfinityZeroAndNan) {
  EXPECT_EQ(exactExp(0), 1);
  EXPECT_EQ(exactExp(-0.0), 1);
  EXPECT_EQ(exactExp(709.7827128933841), std::exp(709.7827128933841));
  EXPECT_EQ(exactExp(709.782712893385), kInfinity);
  EXPECT_EQ(exactExp(1e308), kInfinity);
  EXPECT_EQ(exactExp(kInfinity), kInfinity);
  EXPECT_EQ(exactExp(-745.13), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(exactExp(-745.14), 0);
  EXPECT_EQ(exactExp(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(exactExp(NAN)));
}

TEST(ExactLogTest, IsWithinOneUlp) {
  EXPECT_LE(worst(exactLog, logl, [](CounterRng& rng) { return uniform(rng, 0.5, 2); }), 1);
  EXPECT_LE(worst(exactLog, logl, [](CounterRng& rng) { return uniform(rng, 0.999, 1.001); }), 1);
  EXPECT_LE(worst(exactLog, logl, [](CounterRng& rng) { return 1 + anyScale(rng, -52, -1); }), 1);
  EXPECT_LE(worst(exactLog, logl, [](CounterRng& rng) { return anyScale(rng, -1022, 1023); }), 1);
  EXPECT_LE(worst(exactLog, logl, [](CounterRng& rng) { return anyScale(rng, -1074, -1022); }), 1);
}

TEST(ExactLogTest, HasTheLimitsOfALogarithm) {
  EXPECT_EQ(exactLog(1), 0);
  EXPECT_EQ(exactLog(0), -kInfinity);
  EXPECT_EQ(exactLog(-0.0), -kInfinity);
  EXPECT_EQ(exactLog(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(exactLog(-1)));
  EXPECT_TRUE(std::isnan(exactLog(-kInfinity)));
  EXPECT_TRUE(std::isnan(exactLog(NAN)));
}

TEST(ExactSinCosTest, AreWithinOneUlp) {
  const std::vector<std::function<double(CounterRng&)>> draws{
      [](CounterRng& rng) { return uniform(rng, -1, 1); },     [](CounterRng& rng) { return uniform(rng, -10, 10); },
      [](CounterRng& rng) { return uniform(rng, -1e5, 1e5); }, [](CounterRng& rng) { return uniform(rng, -1e9, 1e9); },
      [](CounterRng& rng) { return anyScale(rng, -80, 29); },
  };
  for (const auto& draw : draws) {
    EXPECT_LE(worst(exactSin, sinl, draw), 1);
    EXPECT_LE(worst(exactCos, cosl, draw), 1);
  }
}

TEST(ExactSinCosTest, StayWithinOneUlpBesideMultiplesOfHalfPi) {
  // The doubles nearest to k pi / 2: what is left after reduction is tiny, and wrong if pi / 2 had too few bits.
  const auto besideZero = [](CounterRng& rng) {
    const double k = static_cast<double>(1 + rng.below(600'000'000));
    const double nearestDouble = static_cast<double>(k * 1.57079632679489661923132169163975144L);
    return std::nextafter(nearestDouble, rng.below(2) == 0 ? 0.0 : kInfinity);
  };
  EXPECT_LE(worst(exactSin, sinl, besideZero), 1);
  EXPECT_LE(worst(exactCos, cosl, besideZero), 1);
}

TEST(ExactSinCosTest, HaveTheSpecialValues) {
  EXPECT_EQ(exactSin(0), 0);
  EXPECT_TRUE(std::signbit(exactSin(-0.0)));
  EXPECT_EQ(exactCos(0), 1);
  EXPECT_EQ(exactSin(std::numeric_limits<double>::denorm_min()), std::numeric_limits<double>::denorm_min());
  for (const double x : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(exactSin(x)));
    EXPECT_TRUE(std::isnan(exactCos(x)));
  }
}

TEST(ExactSinCosDeathTest, RefuseWhatTheReductionCannotReduce) {
  EXPECT_DEATH(exactSin(1.1e9), "out of range");
  EXPECT_DEATH(exactCos(-1e300), "out of range");
}

TEST(ExactPowTest, IsWithinOneUlp) {
  CounterRng rng(2, "pow");
  double worst = 0;
  int compared = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double base = i % 2 == 0 ? uniform(rng, 0.5, 2) : anyScale(rng, -300, 300);
    const double exponent = i % 3 == 0 ? uniform(rng, -2, 2) : uniform(rng, -1000, 1000);
    const long double want = powl(base, exponent);
    if (want < std::numeric_limits<double>::min() || want > std::numeric_limits<double>::max()) continue;
    worst = std::max(worst, ulps(exactPow(base, exponent), want));
    ++compared;
  }
  EXPECT_LE(worst, 1);
  EXPECT_GT(compared, kSamples / 3);
}

TEST(ExactPowTest, HasTheLimitsOfAPower) {
  EXPECT_EQ(exactPow(2, 10), 1024);
  EXPECT_EQ(exactPow(10, -2), 0.01);
  EXPECT_EQ(exactPow(5, 0), 1);
  EXPECT_EQ(exactPow(1, kInfinity), 1);
  EXPECT_EQ(exactPow(0, 3), 0);
  EXPECT_EQ(exactPow(0, -3), kInfinity);
  EXPECT_EQ(exactPow(2, 1e300), kInfinity);
  EXPECT_EQ(exactPow(2, -1e300), 0);
  EXPECT_EQ(exactPow(0.5, kInfinity), 0);
  EXPECT_EQ(exactPow(kInfinity, 0.5), kInfinity);
  EXPECT_EQ(exactPow(kInfinity, -0.5), 0);
  EXPECT_EQ(exactPow(2, 1023), 0x1p1023);
  EXPECT_EQ(exactPow(2, -1074), 0x1p-1074);
  EXPECT_TRUE(std::isnan(exactPow(-2, 2)));
  EXPECT_TRUE(std::isnan(exactPow(2, NAN)));
  EXPECT_TRUE(std::isnan(exactPow(NAN, 2)));
}

TEST(ExactMathTest, RoundsCorrectlyToFloat) {
  CounterRng rng(3, "float");
  for (int i = 0; i < kSamples; ++i) {
    const double x = uniform(rng, -80, 80), positive = anyScale(rng, -100, 100);
    ASSERT_EQ(static_cast<float>(exactExp(x)), static_cast<float>(expl(x))) << x;
    ASSERT_EQ(static_cast<float>(exactLog(positive)), static_cast<float>(logl(positive))) << positive;
    ASSERT_EQ(static_cast<float>(exactSin(x)), static_cast<float>(sinl(x))) << x;
    ASSERT_EQ(static_cast<float>(exactCos(x)), static_cast<float>(cosl(x))) << x;
  }
}

TEST(ExactMathTest, HasTheSameBitsOnEveryMachine) {
  CounterRng rng(4, "pinned");
  std::vector<double> results;
  for (int i = 0; i < 20000; ++i) {
    results.push_back(exactExp(uniform(rng, -740, 709)));
    results.push_back(exactLog(anyScale(rng, -1000, 1000)));
    results.push_back(exactSin(uniform(rng, -1e4, 1e4)));
    results.push_back(exactCos(uniform(rng, -1e9, 1e9)));
    results.push_back(exactPow(anyScale(rng, -50, 50), uniform(rng, -15, 15)));
  }
  EXPECT_EQ(hashBytes(results.data(), results.size() * sizeof(double)), "8262d28d46026209b7a855b190b8d2fb");
}

}  // namespace
}  // namespace redraft
