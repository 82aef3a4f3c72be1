#include <cmath>

#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

TEST(AdamwTest, FollowsTheUpdateOfTheFormulaForSixSteps) {
  constexpr double kLr = 6e-4, kBeta1 = 0.9, kBeta2 = 0.95, kEps = 1e-8, kDecay = 0.01;
  at::Tensor p = normal({1003}, 1), m = at::zeros({1003}), v = at::zeros({1003});
  at::Tensor p64 = f64(p), m64 = f64(m), v64 = f64(v);
  at::Tensor mError = at::zeros({1003}, at::kDouble), pError = at::zeros({1003}, at::kDouble);
  // The scalars are rounded to float32 once, as the kernel's are; what is left is the arithmetic.
  const auto f = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  for (int step = 1; step <= 6; ++step) {
    const at::Tensor grad = normal({1003}, 10 + static_cast<std::uint64_t>(step)), g = f64(grad);
    adamwStep(p, m, v, grad, kLr, kBeta1, kBeta2, kEps, kDecay, step);
    mError = mError + ((g - m64).abs() * f(1 - kBeta1)) * kFloatUnit;
    m64 = m64 + (g - m64) * f(1 - kBeta1);
    mError = mError + m64.abs() * kFloatUnit;
    v64 = v64 * f(kBeta2) + g * g * f(1 - kBeta2);
    const double stepSize = f(kLr / (1 - std::pow(kBeta1, step)));
    const at::Tensor root = v64.sqrt() / f(std::sqrt(1 - std::pow(kBeta2, step))) + f(kEps);
    const at::Tensor update = m64 / root * stepSize;
    // v has taken three roundings a step, halved by the root; root, two divisions, eps and the last product are five
    // more.
    pError = pError + mError / root * (stepSize * (1 + gamma(20))) + update.abs() * gamma(1.5 * step + 5);
    p64 = p64 * f(1 - kLr * kDecay) - update;
    pError = pError + p64.abs() * gamma(2);
  }
  EXPECT_TRUE(within(m, m64, mError * (1 + gamma(12))));
  EXPECT_TRUE(within(v, v64, v64 * gamma(3 * 6)));
  EXPECT_TRUE(within(p, p64, pError * (1 + gamma(12))));
}

TEST(AdamwTest, NoWeightDecayLeavesAParameterWithoutGradientAlone) {
  const at::Tensor start = normal({37}, 1);
  at::Tensor p = start.clone(), m = at::zeros({37}), v = at::zeros({37});
  adamwStep(p, m, v, at::zeros({37}), 1e-3, 0.9, 0.999, 1e-8, 0.0, 1);
  EXPECT_TRUE(sameBits(p, start));
}

TEST(SumOfSquaresTest, EqualsTheExactSumToTheRoundingsOfItsTree) {
  for (const std::int64_t count : {0, 1, 15, 4096, 4097, 100003}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor x = normal({count}, 1, type);
      long double want = 0;
      const at::Tensor wide = f64(x);
      for (std::int64_t i = 0; i < count; ++i)
        want += static_cast<long double>(wide.const_data_ptr<double>()[i]) * wide.const_data_ptr<double>()[i];
      // A block's lanes are 256 long, then a tree of 16, then a tree over the blocks; squares of floats are exact.
      const double roundings = 256 + 4 + std::ceil(std::log2(static_cast<double>(count) / 4096 + 1)) + 1;
      EXPECT_NEAR(sumOfSquares(x), static_cast<double>(want), static_cast<double>(want) * roundings * 0x1p-53) << count;
    }
  }
}

TEST(AddExactTest, AddsElementwise) {
  const at::Tensor a = normal({5, 7}, 1), b = normal({7, 5}, 2).t();
  EXPECT_TRUE(sameBits(addExact(a, b), a + b));
  EXPECT_EQ(addExact(at::empty({0}), at::empty({0})).numel(), 0);
}

}  // namespace
}  // namespace redraft::model::testing
