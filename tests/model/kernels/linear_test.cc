#include <cmath>

#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

struct Size {
  std::int64_t rows, in, out;
};

/// Each element is one chain of fused multiply-adds: as many roundings as terms, and one more when stored as bfloat16.
at::Tensor productBound(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  const at::Tensor magnitude = at::matmul(a.abs(), b.abs());
  const double terms = static_cast<double>(a.size(-1));
  return magnitude * gamma(terms) + at::matmul(a, b).abs() * storeUnit(type) * (1 + gamma(terms)) +
         magnitude * gamma(terms) * storeUnit(type);
}

class LinearTest : public ::testing::TestWithParam<std::tuple<Size, at::ScalarType>> {};

TEST_P(LinearTest, StaysWithinTheBoundOfOneRoundingATerm) {
  const auto [size, type] = GetParam();
  at::Tensor x = normal({size.rows, size.in}, 1, type).requires_grad_(true);
  at::Tensor w = normal({size.out, size.in}, 2, type).requires_grad_(true);
  const at::Tensor grad = normal({size.rows, size.out}, 3, type);
  const at::Tensor y = model::linear(x, w);
  const auto [dx, dw] = [&] {
    const auto g = gradients(y, grad, {x, w});
    return std::pair(g[0], g[1]);
  }();
  const at::Tensor x64 = f64(x), w64 = f64(w), g64 = f64(grad);
  EXPECT_TRUE(within(y, at::matmul(x64, w64.t()), productBound(x64, w64.t(), type)));
  EXPECT_TRUE(within(dx, at::matmul(g64, w64), productBound(g64, w64, type)));
  EXPECT_TRUE(within(dw, at::matmul(g64.t(), x64), productBound(g64.t(), x64, type)));
  EXPECT_EQ(y.scalar_type(), type);
  EXPECT_EQ(dw.scalar_type(), type);
}

INSTANTIATE_TEST_SUITE_P(Sizes, LinearTest,
                         ::testing::Combine(::testing::Values(Size{1, 1, 1}, Size{5, 3, 7}, Size{6, 8, 16},
                                                              Size{7, 9, 17}, Size{128, 64, 192}, Size{13, 300, 31},
                                                              Size{97, 257, 2050}, Size{2, 1000, 33}),
                                            ::testing::Values(at::kFloat, at::kBFloat16)));

TEST(LinearOrderTest, SumsInAscendingOrderWithOneFusedStepATerm) {
  constexpr std::int64_t kRows = 7, kIn = 600, kOut = 19;
  const at::Tensor x = normal({kRows, kIn}, 4), w = normal({kOut, kIn}, 5);
  at::Tensor want = at::empty({kRows, kOut}, at::kFloat);
  const float *a = x.const_data_ptr<float>(), *b = w.const_data_ptr<float>();
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kOut; ++j) {
      float sum = 0.0f;
      for (std::int64_t k = 0; k < kIn; ++k) sum = std::fma(a[i * kIn + k], b[j * kIn + k], sum);
      want.mutable_data_ptr<float>()[i * kOut + j] = sum;
    }
  }
  EXPECT_TRUE(sameBits(model::linear(x, w), want));
}

TEST(LinearOrderTest, ARowsResultDoesNotDependOnTheOtherRows) {
  const at::Tensor x = normal({131, 520}, 6), w = normal({45, 520}, 7);
  const at::Tensor all = model::linear(x, w);
  for (const std::int64_t row : {0, 95, 96, 130}) {
    EXPECT_TRUE(sameBits(model::linear(x[row], w), all[row])) << "row " << row;
  }
}

TEST(LinearShapeTest, TakesStridedInputsOfAnyRank) {
  const at::Tensor base = normal({4, 6, 5, 12}, 8);
  const at::Tensor x = base.transpose(1, 2);  // [4, 5, 6, 12], not contiguous
  const at::Tensor w = normal({12, 9}, 9).t();
  EXPECT_TRUE(sameBits(model::linear(x, w), model::linear(x.contiguous(), w.contiguous())));
  EXPECT_EQ(model::linear(x, w).sizes(), at::IntArrayRef({4, 5, 6, 9}));
  EXPECT_EQ(model::linear(normal({12}, 8), w).sizes(), at::IntArrayRef({9}));
}

TEST(LinearShapeTest, EmptyInputsGiveEmptyOrZeroResults) {
  EXPECT_EQ(model::linear(normal({0, 8}, 1), normal({3, 8}, 2)).sizes(), at::IntArrayRef({0, 3}));
  EXPECT_EQ(model::linear(normal({4, 8}, 1), normal({0, 8}, 2)).sizes(), at::IntArrayRef({4, 0}));
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    EXPECT_TRUE(sameBits(model::linear(normal({4, 0}, 1, type), normal({3, 0}, 2, type)), at::zeros({4, 3}, type)));
  }
  at::Tensor w = normal({3, 8}, 2).requires_grad_(true);
  const at::Tensor y = model::linear(normal({0, 8}, 1), w);
  EXPECT_TRUE(sameBits(gradients(y, at::empty({0, 3}), {w})[0], at::zeros({3, 8})));
}

TEST(LinearGradTest, ComputesOnlyTheGradientsThatAreWanted) {
  at::Tensor x = normal({5, 8}, 1).requires_grad_(true);
  const at::Tensor frozen = normal({3, 8}, 2);
  const at::Tensor y = model::linear(x, frozen);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(gradients(y, normal({5, 3}, 3), {x})[0].sizes(), x.sizes());
  EXPECT_FALSE(model::linear(x.detach(), frozen).requires_grad());
}

TEST(LinearValueTest, CarriesNanAndInfinityThrough) {
  at::Tensor x = normal({3, 20}, 1);
  x[1][7] = std::nanf("");
  x[2][3] = HUGE_VALF;
  const at::Tensor y = model::linear(x, normal({4, 20}, 2));
  EXPECT_TRUE(y[1].isnan().all().item().toBool());
  EXPECT_TRUE(y[2].isinf().all().item().toBool());
  EXPECT_TRUE(y[0].isfinite().all().item().toBool());
}

}  // namespace
}  // namespace redraft::model::testing
