#include <cmath>

#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

struct Case {
  std::int64_t rows, width;
  double spread;
  at::ScalarType type;
};

class CrossEntropyTest : public ::testing::TestWithParam<Case> {};

TEST_P(CrossEntropyTest, LossProbabilityAndGradientStayWithinTheirBounds) {
  const Case c = GetParam();
  at::Tensor logits = (normal({c.rows, c.width}, 1) * c.spread).to(c.type).requires_grad_(true);
  const at::Tensor labels = integers({c.rows}, c.width, 2), grad = normal({c.rows}, 3);
  const auto [loss, argmax, probability] = crossEntropy(logits, labels);
  const at::Tensor dx = gradients(loss, grad, {logits})[0];

  const at::Tensor x = f64(logits), lse = x.logsumexp(1), picked = x.gather(1, labels.unsqueeze(1)).squeeze(1);
  const at::Tensor p = (x - lse.unsqueeze(1)).exp();
  const at::Tensor wantLoss = lse - picked, wantProbability = wantLoss.neg().exp();
  // Σ e^(x - max): each argument is rounded (range · u), exp8 (2.2 u), the 32-lane sum; then the log, and lse itself.
  const at::Tensor range = std::get<0>(x.max(1)) - std::get<0>(x.min(1));
  const double sumRoundings = std::ceil(static_cast<double>(c.width) / 32) + 5 + 3;
  const at::Tensor lseError = (range + lse.abs() * 2 + 2) * kFloatUnit + gamma(sumRoundings);
  EXPECT_TRUE(within(loss, wantLoss, lseError + wantLoss.abs() * kFloatUnit));
  const at::Tensor pError = lseError + (wantLoss.abs() + 3) * kFloatUnit;
  // exp8 gives 0 below e^-87.3.
  const double flushed = std::exp(-87.3);
  EXPECT_TRUE(within(probability, wantProbability, wantProbability * (pError + pError.square()) + flushed));

  const at::Tensor hot = at::zeros_like(x).scatter_(1, labels.unsqueeze(1), 1.0);
  const at::Tensor want = grad.to(at::kDouble).unsqueeze(1) * (p - hot);
  const at::Tensor each = lseError.unsqueeze(1) + ((x - lse.unsqueeze(1)).abs() + 3) * kFloatUnit;
  const at::Tensor size = grad.to(at::kDouble).abs().unsqueeze(1);
  const at::Tensor bound = size * (p * (each + each.square()) + (p + hot) * gamma(2) + flushed);
  EXPECT_TRUE(within(dx, want, bound * (1 + storeUnit(c.type)) + want.abs() * storeUnit(c.type)));
  EXPECT_TRUE(sameBits(argmax, logits.detach().to(at::kFloat).argmax(1)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, CrossEntropyTest,
                         ::testing::Values(Case{1, 1, 1.0, at::kFloat}, Case{5, 7, 1.0, at::kFloat},
                                           Case{33, 260, 3.0, at::kFloat}, Case{6, 5003, 20.0, at::kFloat},
                                           Case{9, 64, 60.0, at::kFloat}, Case{33, 260, 3.0, at::kBFloat16}));

TEST(CrossEntropyArgmaxTest, TheLowestIndexWinsATie) {
  at::Tensor logits = at::zeros({3, 40});
  logits[0][9] = 2.0;
  logits[0][33] = 2.0;
  logits[1][39] = 1.0;
  const auto [loss, argmax, probability] = crossEntropy(logits, at::zeros({3}, at::kLong));
  EXPECT_TRUE(sameBits(argmax, at::tensor({9, 39, 0}, at::kLong)));
}

TEST(CrossEntropyArgmaxTest, ANanIsTheMaximumAndSpoilsItsRowAlone) {
  at::Tensor logits = normal({2, 20}, 1);
  logits[1][13] = std::nanf("");
  const auto [loss, argmax, probability] = crossEntropy(logits, at::zeros({2}, at::kLong));
  EXPECT_EQ(argmax[1].item().toLong(), 13);
  EXPECT_TRUE(std::isnan(loss[1].item().toDouble()));
  EXPECT_TRUE(std::isfinite(loss[0].item().toDouble()));
}

TEST(CrossEntropyLabelTest, ANegativeLabelIgnoresItsRow) {
  at::Tensor logits = normal({3, 20}, 1).requires_grad_(true);
  const at::Tensor labels = at::tensor({4, -100, 5}, at::kLong);
  const auto [loss, argmax, probability] = crossEntropy(logits, labels);
  EXPECT_EQ(loss[1].item().toDouble(), 0.0);
  EXPECT_EQ(probability[1].item().toDouble(), 0.0);
  const at::Tensor dx = gradients(loss, at::ones({3}), {logits})[0];
  EXPECT_TRUE(sameBits(dx[1], at::zeros({20})));
  EXPECT_GT(dx[0].abs().max().item().toDouble(), 0.0);
}

TEST(CrossEntropyShapeTest, TakesStridedAndEmptyInputs) {
  const at::Tensor logits = normal({20, 6}, 1).t(), labels = integers({6}, 20, 2);
  const auto [loss, argmax, probability] = crossEntropy(logits, labels);
  EXPECT_TRUE(sameBits(loss, std::get<0>(crossEntropy(logits.contiguous(), labels))));
  EXPECT_EQ(std::get<0>(crossEntropy(at::empty({0, 5}), at::empty({0}, at::kLong))).numel(), 0);
}

}  // namespace
}  // namespace redraft::model::testing
