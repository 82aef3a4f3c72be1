#include <cmath>

#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

/// Roundings of a 32-lane sum of `width` terms: the longest lane, then a tree of 32.
double laneRoundings(std::int64_t width) { return std::ceil(static_cast<double>(width) / 32) + 5; }

struct NormCase {
  std::int64_t rows, width;
  at::ScalarType type;
};

class RmsNormTest : public ::testing::TestWithParam<NormCase> {};

TEST_P(RmsNormTest, ForwardAndGradientsStayWithinTheirBounds) {
  const NormCase c = GetParam();
  at::Tensor x = normal({c.rows, c.width}, 1, c.type).requires_grad_(true);
  at::Tensor w = normal({c.width}, 2, c.type).requires_grad_(true);
  const at::Tensor grad = normal({c.rows, c.width}, 3, c.type);
  const at::Tensor y = rmsNorm(x, w, kNormEps);
  const auto got = gradients(y, grad, {x, w});

  at::Tensor x64 = f64(x).requires_grad_(true), w64 = f64(w).requires_grad_(true);
  const at::Tensor r = (x64.square().mean(-1, true) + kNormEps).rsqrt();
  const at::Tensor want = w64 * (x64 * r);
  const at::Tensor g64 = f64(grad);
  const auto wantGrad = gradients(want, g64, {x64, w64});

  // r: half the error of the sum of squares (its width), the mean, eps, the root and the division; then the products.
  const double rRoundings = laneRoundings(c.width) / 2 + 4;
  const double store = storeUnit(c.type) * (1 + gamma(rRoundings));
  const at::Tensor rms = r.detach();
  EXPECT_TRUE(within(y, want.detach(), want.detach().abs() * (gamma(rRoundings + 2) * (1 + store) + store)));

  const at::Tensor gwx = (g64 * w64.detach() * x64.detach()).abs().sum(-1, true) / static_cast<double>(c.width);
  const at::Tensor size = (rms * g64 * w64.detach()).abs() + x64.detach().abs() * rms.pow(3) * gwx;
  const double dxRoundings = 3 * rRoundings + laneRoundings(c.width) + 6;
  EXPECT_TRUE(within(got[0], wantGrad[0], size * gamma(dxRoundings) * (1 + store) + wantGrad[0].abs() * store));

  const at::Tensor sums = (g64 * x64.detach() * rms).abs().sum(0);
  const double dwRoundings = rRoundings + 2 + 32 + std::ceil(std::log2(static_cast<double>(c.rows) / 32 + 1)) + 1;
  EXPECT_TRUE(within(got[1], wantGrad[1], sums * gamma(dwRoundings) * (1 + store) + wantGrad[1].abs() * store));
}

INSTANTIATE_TEST_SUITE_P(Shapes, RmsNormTest,
                         ::testing::Values(NormCase{1, 1, at::kFloat}, NormCase{3, 8, at::kFloat},
                                           NormCase{70, 31, at::kFloat}, NormCase{130, 64, at::kFloat},
                                           NormCase{33, 1025, at::kFloat}, NormCase{70, 31, at::kBFloat16},
                                           NormCase{130, 64, at::kBFloat16}));

TEST(RmsNormShapeTest, NormalisesTheLastDimensionOfStridedInputs) {
  const at::Tensor x = normal({2, 6, 5, 16}, 1).transpose(1, 2), w = normal({16}, 2);
  EXPECT_TRUE(sameBits(rmsNorm(x, w, kNormEps), rmsNorm(x.contiguous(), w, kNormEps)));
  EXPECT_EQ(rmsNorm(normal({0, 16}, 1), w, kNormEps).sizes(), at::IntArrayRef({0, 16}));
}

TEST(RmsNormShapeTest, NoRowsGiveAZeroWeightGradient) {
  at::Tensor w = normal({16}, 2).requires_grad_(true);
  const at::Tensor y = rmsNorm(normal({0, 16}, 1), w, kNormEps);
  EXPECT_TRUE(sameBits(gradients(y, at::empty({0, 16}), {w})[0], at::zeros({16})));
}

class SiluMulTest : public ::testing::TestWithParam<at::ScalarType> {};

TEST_P(SiluMulTest, ForwardAndGradientsStayWithinTheirBounds) {
  const auto type = GetParam();
  // Widens the normal values so that both tails of the sigmoid are met; 1003 leaves a tail of the vector.
  at::Tensor gate = (normal({1003}, 1) * 30.0).to(type).requires_grad_(true);
  at::Tensor up = normal({1003}, 2, type).requires_grad_(true);
  const at::Tensor grad = normal({1003}, 3, type);
  const at::Tensor y = siluMul(gate, up);
  const auto got = gradients(y, grad, {gate, up});

  const at::Tensor x = f64(gate), u = f64(up), g = f64(grad), s = x.sigmoid();
  // exp8 is within 2^-22.9, less than 2.2 units; then 1 + e, the division and three products.
  const double roundings = 8;
  const double store = storeUnit(type) * (1 + gamma(roundings));
  // exp8 gives 0 below e^-87.3, which |x| and the factors scale.
  const at::Tensor flushed = (1 + x.abs()) * ((u.abs() + 1) * (g.abs() + 1)) * std::exp(-87.3);
  const at::Tensor want = x * s * u;
  EXPECT_TRUE(within(y, want, want.abs() * (gamma(roundings) + store) * (1 + store) + flushed));
  const at::Tensor slope = s * (1 + x * (1 - s)), size = (g * u).abs() * s * (1 + x.abs());
  EXPECT_TRUE(within(got[0], g * u * slope,
                     size * gamma(roundings + 4) * (1 + store) + (g * u * slope).abs() * store + flushed));
  EXPECT_TRUE(within(got[1], g * x * s, (g * x * s).abs() * (gamma(roundings) + store) * (1 + store) + flushed));
}

INSTANTIATE_TEST_SUITE_P(Types, SiluMulTest, ::testing::Values(at::kFloat, at::kBFloat16));

TEST(SiluMulValueTest, ExtremeGatesNeitherOverflowNorLoseNan) {
  const at::Tensor gate = at::tensor({-1000.0f, -88.0f, 0.0f, 88.0f, 1000.0f, -HUGE_VALF, HUGE_VALF, std::nanf("")});
  const at::Tensor y = siluMul(gate, at::ones({8}));
  const float* v = y.const_data_ptr<float>();
  EXPECT_EQ(v[0], 0.0f);
  EXPECT_EQ(v[2], 0.0f);
  EXPECT_EQ(v[3], 88.0f);
  EXPECT_EQ(v[4], 1000.0f);
  EXPECT_EQ(v[6], HUGE_VALF);
  EXPECT_TRUE(std::isnan(v[7]));
}

TEST(SiluMulShapeTest, TakesStridedAndEmptyInputs) {
  const at::Tensor both = normal({7, 40}, 1);
  const at::Tensor gate = both.slice(1, 0, 20), up = both.slice(1, 20, 40);
  EXPECT_TRUE(sameBits(siluMul(gate, up), siluMul(gate.contiguous(), up.contiguous())));
  EXPECT_EQ(siluMul(at::empty({0, 4}), at::empty({0, 4})).sizes(), at::IntArrayRef({0, 4}));
}

}  // namespace
}  // namespace redraft::model::testing
