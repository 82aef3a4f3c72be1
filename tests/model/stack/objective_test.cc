#include "model/objective.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <vector>

#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

const std::vector<LossType> kAllTypes = {LossType::kDflash, LossType::kDpace, LossType::kDpaceCumulativeConfidence,
                                         LossType::kDpaceContinuationValue};

/// Hidden states of no model at all, and a plan with gaps, a dropped block and a tail past the row's end.
struct Case {
  TargetHead head;
  BlockPlan plan;
  at::Tensor hidden;

  explicit Case(std::optional<double> gamma = 2.0) {
    constexpr std::int64_t kLength = 30, kBlock = 5;
    const at::Tensor mask = tiny::lossMask(2, kLength, 3, 6);
    Anchors anchors = drawAnchors(mask, 6, 11, 0, {0, 1});
    anchors.positions[0][5] = kLength - 2;
    anchors.positions[1][2] = 0;
    anchors.keep[1][2] = false;
    plan = planBlocks(tiny::randomIds(2, kLength, 2), mask, anchors, kBlock, 66, gamma);
    const auto tensors =
        randomParameters({{"hidden", {2, 6 * kBlock, 24}}, {"embedding", {67, 24}}, {"head", {67, 24}}}, 77, 0.7);
    hidden = tensors[0];
    head = {tensors[1], tensors[2]};
    // Some hits, so that accuracy and acceptance are not trivially 0: point these slots at their label.
    at::Tensor rows = hidden.view({-1, 24});
    const at::Tensor labels = plan.labels.view(-1);
    for (std::int64_t row = 0; row < rows.size(0); ++row) {
      if (row % 3 != 0) rows[row].copy_(head.output[labels[row].item<std::int64_t>()] * 3.0);
    }
  }
};

/// The objective by its definition, slot by slot, in float64.
struct Oracle {
  LossSums sums;
  double bound = 0;  // on the numerator's absolute error in float32

  Oracle(const Case& c, LossType type) {
    const at::Tensor hidden = c.hidden.to(at::kDouble).view({-1, 24});
    const at::Tensor head = c.head.output.to(at::kDouble);
    const at::Tensor logits = at::matmul(hidden, head.t());
    const at::Tensor logp = at::log_softmax(logits, -1);
    // |fl(logit) - logit| ≤ H u Σ|h||w|; cross-entropy adds the label's and the log-sum-exp's error, and its own
    // rounding.
    const at::Tensor magnitude = std::get<0>(at::matmul(hidden.abs(), head.abs().t()).max(-1));
    const std::int64_t size = c.plan.blockSize();
    for (std::int64_t block = 0; block < c.plan.batch() * c.plan.blocks(); ++block) {
      addBlock(c, type, block * size, size, logits, logp, magnitude);
    }
    sums.denominator = type == LossType::kDflash ? sums.denominator : static_cast<double>(c.plan.batch());
    sums.blocks = static_cast<double>(c.plan.keptBlocks);
  }

 private:
  void addBlock(const Case& c, LossType type, std::int64_t first, std::int64_t size, const at::Tensor& logits,
                const at::Tensor& logp, const at::Tensor& magnitude) {
    const at::Tensor valid = c.plan.valid.view(-1);
    const at::Tensor labels = c.plan.labels.view(-1);
    std::vector<double> product(static_cast<std::size_t>(size)), loss(product), ok(product);
    bool accepted = true;
    double running = 1;
    for (std::int64_t k = 0; k < size; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const auto label = labels[first + k].item<std::int64_t>();
      ok[i] = valid[first + k].item<bool>() ? 1.0 : 0.0;
      loss[i] = -logp[first + k][label].item<double>();
      running *= ok[i] != 0 ? 0.5 * std::exp(-loss[i]) + 0.5 : 1.0;
      product[i] = running;
      const bool hit = ok[i] != 0 && logits[first + k].argmax().item<std::int64_t>() == label;
      sums.correct += hit ? 1 : 0;
      sums.valid += ok[i];
      if (k > 0) accepted = accepted && hit;
      sums.acceptedSlots += k > 0 && accepted ? 1 : 0;
    }
    for (std::int64_t k = 0; k < size; ++k) {
      const auto i = static_cast<std::size_t>(k);
      double tail = 0;
      for (std::size_t later = i; later < product.size(); ++later) tail += product[later] * ok[later];
      double weight = c.plan.weights.view(-1)[first + k].item<double>();
      if (type == LossType::kDpace) weight = tail;
      if (type == LossType::kDpaceCumulativeConfidence) weight = product[i];
      if (type == LossType::kDpaceContinuationValue) weight = tail / product[i];
      sums.numerator += ok[i] * weight * loss[i];
      sums.denominator += type == LossType::kDflash ? ok[i] * weight : 0.0;
      const double slot =
          2.0 * (24 + 8) * tiny::kUnit * magnitude[first + k].item<double>() + 4 * tiny::kUnit * (loss[i] + 1);
      // D-PACE's weight is a sum of products of such probabilities: as many relative errors more.
      bound += ok[i] * weight * (slot + (type == LossType::kDflash ? 2 : 4 * size) * (tiny::kUnit + slot) * loss[i]);
    }
  }
};

LossSums sumsOf(const Case& c, LossType type, std::int64_t chunk) {
  return evaluateObjective(c.hidden, c.head, c.plan, {type, chunk}).sums(c.plan, type);
}

TEST(ObjectiveTest, EveryLossTypeFollowsItsDefinition) {
  const Case c;
  for (const LossType type : kAllTypes) {
    const Oracle oracle(c, type);
    const LossSums sums = sumsOf(c, type, 0);
    EXPECT_LE(std::fabs(sums.numerator - oracle.sums.numerator), oracle.bound) << lossTypeName(type);
    EXPECT_LE(std::fabs(sums.denominator - oracle.sums.denominator), oracle.sums.valid * tiny::kUnit);
    EXPECT_EQ(sums.correct, oracle.sums.correct);
    EXPECT_EQ(sums.valid, oracle.sums.valid);
    EXPECT_EQ(sums.acceptedSlots, oracle.sums.acceptedSlots);
    EXPECT_EQ(sums.blocks, 11);
    EXPECT_GT(sums.correct, 0);
    EXPECT_LT(sums.correct, sums.valid);
    EXPECT_GT(sums.acceptedSlots, 0);
    EXPECT_LT(oracle.bound, 1e-3 * oracle.sums.numerator) << "a bound this wide tests nothing";
  }
}

TEST(ObjectiveTest, LossTypesDiffer) {
  const Case c;
  for (std::size_t i = 0; i < kAllTypes.size(); ++i) {
    for (std::size_t j = i + 1; j < kAllTypes.size(); ++j)
      EXPECT_GT(std::fabs(sumsOf(c, kAllTypes[i], 0).loss() - sumsOf(c, kAllTypes[j], 0).loss()), 1e-3);
  }
}

TEST(ObjectiveTest, ChunksChangeNoBitOfLossOrGradient) {
  const Case c;
  for (const LossType type : kAllTypes) {
    const at::Tensor whole = c.hidden.clone().requires_grad_(true);
    const Objective reference = evaluateObjective(whole, c.head, c.plan, {type, 0});
    const at::Tensor gradient = torch::autograd::grad({reference.numerator}, {whole}).front();
    for (const std::int64_t chunk : {1, 3, 5, 12, 500}) {
      const at::Tensor sliced = c.hidden.clone().requires_grad_(true);
      const Objective objective = evaluateObjective(sliced, c.head, c.plan, {type, chunk});
      EXPECT_TRUE(at::equal(objective.numerator, reference.numerator)) << lossTypeName(type) << " by " << chunk;
      EXPECT_TRUE(at::equal(objective.hitSums, reference.hitSums));
      EXPECT_TRUE(at::equal(torch::autograd::grad({objective.numerator}, {sliced}).front(), gradient)) << chunk;
    }
    EXPECT_GT(gradient.norm().item<float>(), 0);
  }
}

TEST(ObjectiveTest, InvalidSlotsGetNoGradient) {
  const Case c;
  const at::Tensor hidden = c.hidden.clone().requires_grad_(true);
  const Objective objective = evaluateObjective(hidden, c.head, c.plan, {LossType::kDflash, 2});
  const at::Tensor gradient = torch::autograd::grad({objective.numerator}, {hidden}).front().view({-1, 24});
  const at::Tensor touched = gradient.abs().sum(-1) > 0;
  EXPECT_TRUE(at::equal(touched, c.plan.valid.view(-1)));
}

TEST(ObjectiveTest, DpaceWeightsMatchAHandComputedBlock) {
  const at::Tensor p = at::tensor({0.9f, 0.5f, 0.25f, 1.0f}).view({1, 1, 4});
  const at::Tensor valid = at::tensor({0, 1, 1, 1}, at::kLong).view({1, 1, 4}).to(at::kBool);
  // s = 1, 0.75, 0.625, 1; P = 1, 0.75, 0.46875, 0.46875: all exact in float32.
  const auto expectWeights = [&](LossType type, const std::vector<float>& values) {
    EXPECT_TRUE(at::equal(dpaceWeights(type, p, valid), at::tensor(values).view({1, 1, 4}))) << lossTypeName(type);
  };
  expectWeights(LossType::kDpaceCumulativeConfidence, {0, 0.75f, 0.46875f, 0.46875f});
  expectWeights(LossType::kDpace, {0, 1.6875f, 0.9375f, 0.46875f});
  expectWeights(LossType::kDpaceContinuationValue, {0, 2.25f, 2.0f, 1.0f});
}

TEST(ObjectiveTest, NamesOfLossTypesRoundTrip) {
  for (const LossType type : kAllTypes) EXPECT_EQ(lossTypeFromName(lossTypeName(type)), type);
  EXPECT_EQ(lossTypeFromName("ce"), std::nullopt);
}

TEST(LossSumsTest, AddUpAndDivideOnce) {
  LossSums a{6, 2, 1, 4, 1, 2}, b{1, 8, 3, 4, 2, 1};
  a += b;
  EXPECT_EQ(a.loss(), 0.7);
  EXPECT_EQ(a.accuracy(), 0.5);
  EXPECT_EQ(a.acceptanceLength(), 2.0);
  EXPECT_EQ(LossSums().loss(), 0.0);
  EXPECT_EQ(LossSums().acceptanceLength(), 0.0);
}

}  // namespace
}  // namespace redraft::model
