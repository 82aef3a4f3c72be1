#include <cmath>

#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

TEST(RopeTableTest, IsCosineAndSineOfTheFloat32Angle) {
  constexpr std::int64_t kDim = 64;
  constexpr double kTheta = 1e6;
  const at::Tensor positions =
      at::cat({at::arange(0, 40, at::kLong), at::tensor({4095, 262143}, at::kLong)}).view({2, 21});
  const auto [cos, sin] = ropeTable(positions, kDim, kTheta);
  ASSERT_EQ(cos.sizes(), at::IntArrayRef({2, 21, kDim / 2}));
  const std::int64_t* at = positions.const_data_ptr<std::int64_t>();
  for (std::int64_t t = 0; t < positions.numel(); ++t) {
    for (std::int64_t i = 0; i < kDim / 2; ++i) {
      const double exponent = static_cast<float>(2 * i) / static_cast<float>(kDim);
      const float frequency = 1.0f / static_cast<float>(std::pow(kTheta, exponent));
      const float angle = static_cast<float>(at[t]) * frequency;
      // Correctly rounded but for about one value in 10^8; libm's double functions here are within one of its units.
      EXPECT_NEAR(cos.const_data_ptr<float>()[t * kDim / 2 + i], std::cos(static_cast<double>(angle)), kFloatUnit);
      EXPECT_NEAR(sin.const_data_ptr<float>()[t * kDim / 2 + i], std::sin(static_cast<double>(angle)), kFloatUnit);
    }
  }
}

TEST(RopeTableTest, NoPositionsGiveAnEmptyTable) {
  const auto [cos, sin] = ropeTable(at::empty({2, 0}, at::kLong), 8, 1e4);
  EXPECT_EQ(cos.sizes(), at::IntArrayRef({2, 0, 4}));
  EXPECT_EQ(sin.sizes(), at::IntArrayRef({2, 0, 4}));
}

class RopeTest : public ::testing::TestWithParam<std::tuple<std::int64_t, at::ScalarType>> {};

TEST_P(RopeTest, RotatesAndRotatesGradientsBack) {
  const auto [dim, type] = GetParam();
  const std::int64_t half = dim / 2;
  // As the model has it: [B, T, h, d] seen as [B, h, T, d].
  at::Tensor x = normal({2, 9, 3, dim}, 1, type).transpose(1, 2).requires_grad_(true);
  const auto [cos, sin] = ropeTable(integers({2, 9}, 5000, 2), dim, 1e6);
  const at::Tensor grad = normal({2, 3, 9, dim}, 3, type);
  const at::Tensor y = applyRope(x, cos, sin);
  const at::Tensor dx = gradients(y, grad, {x})[0];

  const at::Tensor c = at::cat({f64(cos), f64(cos)}, -1).unsqueeze(1),
                   s = at::cat({f64(sin), f64(sin)}, -1).unsqueeze(1);
  const double unit = storeUnit(type);
  const auto turn = [&](const at::Tensor& v, double sign) {
    const at::Tensor turned = at::cat({-v.slice(3, half), v.slice(3, 0, half)}, 3);
    const at::Tensor want = v * c + sign * turned * s, size = (v * c).abs() + (turned * s).abs();
    const at::Tensor bound = size * gamma(2) * (1 + unit) + want.abs() * unit;
    return std::pair(want, bound);
  };
  const auto [want, bound] = turn(f64(x), 1.0);
  EXPECT_TRUE(within(y, want, bound));
  const auto [wantGrad, gradBound] = turn(f64(grad), -1.0);
  EXPECT_TRUE(within(dx, wantGrad, gradBound));
  EXPECT_TRUE(y.is_contiguous());
}

INSTANTIATE_TEST_SUITE_P(Dims, RopeTest,
                         ::testing::Combine(::testing::Values(2, 8, 20, 64, 128),
                                            ::testing::Values(at::kFloat, at::kBFloat16)));

}  // namespace
}  // namespace redraft::model::testing
