#include "model/train_step.h"

#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/optimizer.h"
#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

constexpr double kHalfUnit = 0x1p-9;  // bfloat16: largest relative rounding error

/// Roundings to bfloat16 on the longest way from embedding to logits: 12 a layer (norm, projection, head norm, RoPE,
/// attention, output, sum, norm, gate, product, down, sum), 2 of the context, 2 of the end, 1 of the input.
double roundings(const DrafterConfig& config) { return 12.0 * static_cast<double>(config.layers) + 5.0; }

/// `batch` cut to one row, with that row's blocks.
tiny::Batch rowOf(const tiny::Batch& batch, std::int64_t row, const DrafterConfig& config) {
  tiny::Batch one = batch;
  one.ids = batch.ids.narrow(0, row, 1).contiguous();
  one.mask = batch.mask.narrow(0, row, 1).contiguous();
  const Anchors anchors = {batch.plan.anchors.positions.narrow(0, row, 1).contiguous(),
                           batch.plan.anchors.keep.narrow(0, row, 1).contiguous()};
  one.plan = planBlocks(one.ids, one.mask, anchors, config.blockSize, config.maskTokenId, 7.0);
  one.feature = batch.feature.narrow(0, row, 1).contiguous();
  return one;
}

TEST(TrainStepTest, MicroBatchesAddUpToTheBatch) {
  const Target target = tiny::target(1);
  const Drafter drafter = tiny::drafter(2);
  tiny::Batch both = tiny::batch(target, drafter.config(), 2, 26, 6, 3);
  both.mask[1].narrow(0, 0, 18).zero_();  // unequal rows: a mean of means would be wrong
  both.plan = planBlocks(both.ids, both.mask, drawAnchors(both.mask, 6, 3, 0, {0, 1}), drafter.config().blockSize,
                         drafter.config().maskTokenId, 7.0);
  const MicroBatchResult whole = trainMicroBatch(drafter, target.head(), both.feature, both.plan, {});
  LossSums sums;
  double meanOfMeans = 0;
  std::vector<at::Tensor> gradients;
  for (std::int64_t row = 0; row < 2; ++row) {
    const tiny::Batch one = rowOf(both, row, drafter.config());
    const MicroBatchResult part = trainMicroBatch(drafter, target.head(), one.feature, one.plan, {});
    sums += part.sums;
    meanOfMeans += part.sums.loss() / 2;
    for (std::size_t i = 0; i < part.gradients.size(); ++i) {
      if (row == 0)
        gradients.push_back(part.gradients[i]);
      else
        gradients[i] = gradients[i] + part.gradients[i];
    }
  }
  // A gradient sums over at most 2 · (26 + 30) rows; another order of summation moves it by as many half units.
  const double bound = 2 * (26 + 30) * tiny::kUnit;
  EXPECT_LE(std::fabs(sums.loss() - whole.sums.loss()), bound * whole.sums.loss());
  EXPECT_GT(std::fabs(meanOfMeans - whole.sums.loss()), 100 * bound) << "equal rows would not test the normalisation";
  EXPECT_EQ(sums.valid, whole.sums.valid);
  EXPECT_EQ(sums.blocks, whole.sums.blocks);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    EXPECT_LE(tiny::relativeError(gradients[i], whole.gradients[i]), bound) << i;
}

TEST(TrainStepTest, SameCallGivesTheSameBits) {
  const Target target = tiny::target(1);
  const Drafter drafter = tiny::drafter(2);
  const tiny::Batch batch = tiny::batch(target, drafter.config(), 2, 26, 6, 3);
  const MicroBatchResult first = trainMicroBatch(drafter, target.head(), batch.feature, batch.plan, {});
  const MicroBatchResult again =
      trainMicroBatch(drafter, target.head(), batch.feature, batch.plan, {LossType::kDflash, 1});
  EXPECT_EQ(first.sums.numerator, again.sums.numerator);
  for (std::size_t i = 0; i < first.gradients.size(); ++i)
    EXPECT_TRUE(at::equal(first.gradients[i], again.gradients[i])) << "chunks of one block differ in gradient " << i;
}

TEST(TrainStepTest, GradientPredictsTheChangeOfTheLoss) {
  const Target target = tiny::target(1);
  const tiny::Batch batch = tiny::batch(target, tiny::drafterConfig(), 2, 26, 6, 3);
  const MicroBatchResult at0 = trainMicroBatch(tiny::drafter(2), target.head(), batch.feature, batch.plan, {});
  // One parameter at a time, a step of length h along its gradient g: (f(+h) - f(-h)) / 2h = ‖g‖ + O(h²).
  constexpr double kStep = 1e-2;
  for (std::size_t i = 0; i < at0.gradients.size(); ++i) {
    const double length = globalNorm({at0.gradients[i]});
    const auto lossAfter = [&](double step) {
      const Drafter moved = tiny::drafter(2);
      const c10::NoGradGuard frozen;
      moved.parameters()[i].add_(at0.gradients[i], step / length);
      return evaluateMicroBatch(moved, target.head(), batch.feature, batch.plan, {}).numerator;
    };
    const double slope = (lossAfter(kStep) - lossAfter(-kStep)) / (2 * kStep);
    // The numerator is good to about 1e-6 of itself, so its difference to 2e-6 · f / 2h; the O(h²) is of the same size.
    EXPECT_LT(std::fabs(slope - length), 2e-6 * at0.sums.numerator / kStep + 0.01 * length) << i;
  }
}

TEST(TrainStepTest, PlanWithoutBlocksContributesZero) {
  const Target target = tiny::target(1);
  const Drafter drafter = tiny::drafter(2);
  tiny::Batch batch = tiny::batch(target, drafter.config(), 1, 12, 2, 3);
  batch.mask.zero_();
  const BlockPlan empty = planBlocks(batch.ids, batch.mask, drawAnchors(batch.mask, 2, 1, 0, {0}), 5, 66, 7.0);
  const MicroBatchResult result = trainMicroBatch(drafter, target.head(), batch.feature, empty, {});
  EXPECT_EQ(result.sums.denominator, 0);
  EXPECT_EQ(result.gradients.size(), drafter.parameters().size());
  EXPECT_EQ(globalNorm(result.gradients), 0);
  EXPECT_EQ(evaluateMicroBatch(drafter, target.head(), batch.feature, empty, {LossType::kDpace, 0}).denominator, 1);
}

TEST(TrainStepTest, EvaluationGivesTheSumsOfTraining) {
  const Target target = tiny::target(1);
  const Drafter drafter = tiny::drafter(2);
  const tiny::Batch batch = tiny::batch(target, drafter.config(), 2, 26, 6, 3);
  for (const LossType type : {LossType::kDflash, LossType::kDpace}) {
    const LossSums trained = trainMicroBatch(drafter, target.head(), batch.feature, batch.plan, {type, 2}).sums;
    const LossSums evaluated = evaluateMicroBatch(drafter, target.head(), batch.feature, batch.plan, {type, 2});
    EXPECT_EQ(trained.numerator, evaluated.numerator);
    EXPECT_EQ(trained.acceptedSlots, evaluated.acceptedSlots);
  }
}

TEST(TrainStepTest, PaddingOnTheRightChangesNothing) {
  const Target target = tiny::target(1);
  const Drafter drafter = tiny::drafter(2);
  const tiny::Batch batch = tiny::batch(target, drafter.config(), 1, 26, 6, 3);
  const at::Tensor ids = at::cat({batch.ids, at::zeros({1, 5}, at::kLong)}, 1);
  const at::Tensor mask = at::cat({batch.mask, at::zeros({1, 5}, at::kBool)}, 1);
  const BlockPlan plan = planBlocks(ids, mask, batch.plan.anchors, 5, 66, 7.0);
  const at::Tensor feature = target.contextFeature(ids, drafter.config().targetLayerIds);
  const double padded = evaluateMicroBatch(drafter, target.head(), feature, plan, {}).loss();
  const double bare = evaluateMicroBatch(drafter, target.head(), batch.feature, batch.plan, {}).loss();
  EXPECT_LE(std::fabs(padded - bare), 31 * tiny::kUnit * bare);  // at most another order of 31 summands
}

TEST(TrainStepTest, Bfloat16StaysWithinItsRoundings) {
  const Target exact = tiny::target(1);
  const Target rounded = tiny::target(1, at::kBFloat16);
  const DrafterConfig config = tiny::drafterConfig();
  const tiny::Batch reference = tiny::batch(exact, config, 2, 26, 6, 3);
  const tiny::Batch batch = tiny::batch(rounded, config, 2, 26, 6, 3);
  ASSERT_EQ(batch.feature.scalar_type(), at::kBFloat16);
  const MicroBatchResult a = trainMicroBatch(tiny::drafter(2), exact.head(), reference.feature, reference.plan, {});
  const MicroBatchResult b =
      trainMicroBatch(tiny::drafter(2, at::kBFloat16), rounded.head(), batch.feature, batch.plan, {});
  // The target's way to the feature is 12 roundings a layer too. Backward takes as many again.
  const double forward = (roundings(config) + 12.0 * 4 + 1) * kHalfUnit;
  EXPECT_LE(std::fabs(b.sums.loss() - a.sums.loss()), forward * a.sums.loss());
  EXPECT_NE(b.sums.loss(), a.sums.loss());
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    EXPECT_EQ(b.gradients[i].scalar_type(), at::kFloat);
    EXPECT_LE(tiny::relativeError(b.gradients[i], a.gradients[i]), 2 * forward) << i;
  }
}

TEST(TargetTest, ContextFeatureAloneEqualsTheWholeForward) {
  const Target target = tiny::target(6);
  const at::Tensor ids = tiny::randomIds(2, 15, 1);
  for (const std::vector<std::int64_t>& layers : {std::vector<std::int64_t>{0, 2}, {3}, {3, 1, 1}}) {
    const Target::Output output = target.forward(ids, layers);
    EXPECT_TRUE(at::equal(output.contextFeature, target.contextFeature(ids, layers)));
    EXPECT_EQ(output.contextFeature.size(2), static_cast<std::int64_t>(layers.size()) * 24);
  }
  EXPECT_TRUE(at::equal(target.contextFeature(ids, {3}), target.forward(ids, {}).hidden))
      << "the last layer's state is the one after the final norm";
}

}  // namespace
}  // namespace redraft::model
