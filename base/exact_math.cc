#include "base/exact_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/error.h"

// Only +, -, *, /, fma and bit operations, each correctly rounded by IEEE 754, in a fixed order. Series coefficients
// are Taylor's own quotients, so nothing here was fitted. This file is compiled with -mfma: std::fma is one
// instruction.
namespace redraft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Constants split into doubles that sum to them.
constexpr double kLn2High = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kHalfPi1 = 0x1.921fb54442d18p+0, kHalfPi2 = 0x1.1a62633145c07p-54, kHalfPi3 = -0x1.f1976b7ed8fbcp-110;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kTwoThirdsLow = 0x1.5555555555555p-55, kTwoFifthsLow = -0x1.999999999999ap-56;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;

/// The unevaluated sum high + low, |low| ≤ ulp(high) / 2.
struct Pair {
  double high;
  double low;
};

/// a + b without error (Knuth).
Pair twoSum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

Pair add(Pair a, Pair b) {
  const Pair sum = twoSum(a.high, b.high);
  return twoSum(sum.high, sum.low + (a.low + b.low));
}

Pair multiply(Pair a, Pair b) {
  const double product = a.high * b.high;
  const double error = std::fma(a.high, b.high, -product);
  return twoSum(product, error + std::fma(a.high, b.low, a.low * b.high));
}

/// sum of coefficients[i] · x^i.
template <int kCount>
double polynomial(const double (&coefficients)[kCount], double x) {
  double value = coefficients[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) value = std::fma(value, x, coefficients[i]);
  return value;
}

double powerOfTwo(int exponent) {  // -1022 ≤ exponent ≤ 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// e^(x.high + x.low) for |x| ≤ 800. x = k ln 2 + r, |r| ≤ ln 2 / 2; the first step of the reduction is exact.
double expOfPair(Pair x) {
  static constexpr double kTaylor[] = {
      1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,       1.0 / 5040,
      1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
  };
  const double k = std::nearbyint(x.high * kLog2E);
  const Pair r = twoSum(std::fma(-k, kLn2High, x.high), std::fma(-k, kLn2Low, x.low));
  const double rest = std::fma(r.high * r.high, polynomial(kTaylor, r.high), std::fma(r.low, r.high, r.low));
  const double value = 1 + (r.high + rest);
  const int exponent = static_cast<int>(k);
  if (exponent > 1023) return value * 0x1p1023 * powerOfTwo(exponent - 1023);
  if (exponent < -1022) return value * powerOfTwo(exponent + 200) * 0x1p-200;  // rounded once, by the last product
  return value * powerOfTwo(exponent);
}

/// log x of a positive finite x to about 2^-66 relative: x = 2^k m, m in [sqrt(1/2), sqrt(2)), s = (m - 1) / (m + 1),
/// log m = 2 atanh s = 2 s + s z (2/3 + z (2/5 + z (2/7 + …))), z = s².
Pair logToPair(double x) {
  static constexpr double kTail[] = {2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13, 2.0 / 15,
                                     2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
  int k = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    k = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m >= 2 * kSqrtHalf) {
    m *= 0.5;
    ++k;
  }
  const double numerator = m - 1;
  const Pair denominator = twoSum(m, 1);
  const double quotient = numerator / denominator.high;
  const double remainder = std::fma(-quotient, denominator.high, numerator) - quotient * denominator.low;
  const Pair s{quotient, remainder / denominator.high};
  const Pair z = multiply(s, s);
  Pair series = add({2.0 / 5, kTwoFifthsLow}, {z.high * polynomial(kTail, z.high), 0});
  series = add({2.0 / 3, kTwoThirdsLow}, multiply(z, series));
  const Pair logM = add({2 * s.high, 2 * s.low}, multiply(multiply(s, z), series));
  const double kHigh = k * kLn2High;
  const Pair logScale{kHigh, std::fma(k, kLn2High, -kHigh) + k * kLn2Low};
  return add(logScale, logM);
}

/// x - quadrant · pi/2 to about 2^-100 relative to pi/4. The first step is exact: both terms are multiples of one ulp.
Pair reduceByHalfPi(double x, int* quadrant) {
  if (!(std::fabs(x) <= 1e9)) checkFailed(__FILE__, __LINE__, "|x| <= 1e9", "exactSin and exactCos: out of range");
  const double k = std::nearbyint(x * kTwoOverPi);
  const double product = k * kHalfPi2;
  const Pair rest = twoSum(std::fma(-k, kHalfPi1, x), -product);
  *quadrant = static_cast<int>(static_cast<std::int64_t>(k) & 3);
  return twoSum(rest.high, rest.low - std::fma(k, kHalfPi3, std::fma(k, kHalfPi2, -product)));
}

double sinOfReduced(Pair r) {
  static constexpr double kTaylor[] = {
      -1.0 / 6,        1.0 / 120,         -1.0 / 5040,           1.0 / 362880,
      -1.0 / 39916800, 1.0 / 6227020800., -1.0 / 1307674368000., 1.0 / 355687428096000.};
  const double square = r.high * r.high;
  const double cubicOn = square * r.high * polynomial(kTaylor, square);
  return r.high + (cubicOn + std::fma(-0.5 * square, r.low, r.low));
}

double cosOfReduced(Pair r) {
  static constexpr double kTaylor[] = {1.0 / 24,         -1.0 / 720,          1.0 / 40320,          -1.0 / 3628800,
                                       1.0 / 479001600., -1.0 / 87178291200., 1.0 / 20922789888000.};
  const double square = r.high * r.high;
  const double head = 1 - 0.5 * square;
  const double lost = (1 - head) - 0.5 * square;
  const double squareLow = std::fma(r.high, r.high, -square);
  const double quarticOn = std::fma(square * square, polynomial(kTaylor, square), -r.high * r.low);
  return head + (lost + std::fma(-0.5, squareLow, quarticOn));
}

double sinOfQuadrant(Pair r, int quadrant) {
  const double value = (quadrant & 1) != 0 ? cosOfReduced(r) : sinOfReduced(r);
  return (quadrant & 2) != 0 ? -value : value;
}

}  // namespace

double exactExp(double x) {
  if (x != x) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  return expOfPair({x, 0});
}

double exactLog(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0)) return kNan;
  if (x == kInfinity) return x;
  return logToPair(x).high;
}

double exactSin(double x) {
  if (!(std::fabs(x) < kInfinity)) return kNan;
  if (std::fabs(x) < 0x1p-27) return x;  // x - x³/6 rounds to x; keeps -0
  int quadrant = 0;
  const Pair r = reduceByHalfPi(x, &quadrant);
  return sinOfQuadrant(r, quadrant);
}

double exactCos(double x) {
  if (!(std::fabs(x) < kInfinity)) return kNan;
  int quadrant = 0;
  const Pair r = reduceByHalfPi(x, &quadrant);
  return sinOfQuadrant(r, quadrant + 1);
}

double exactPow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (!(base >= 0) || exponent != exponent) return kNan;
  if (base == 0) return exponent > 0 ? 0 : kInfinity;
  const Pair log = base == kInfinity ? Pair{kInfinity, 0} : logToPair(base);
  const double product = exponent * log.high;
  if (!(std::fabs(product) < 800)) return product > 0 ? kInfinity : 0;
  return expOfPair({product, std::fma(exponent, log.high, -product) + exponent * log.low});
}

}  // namespace redraft
