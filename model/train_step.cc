#include "model/train_step.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/role.h"

namespace redraft::model {

namespace {

std::vector<at::Tensor> zeroGradients(const Drafter& drafter) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& parameter : drafter.parameters())
    zeros.push_back(at::zeros(parameter.sizes(), parameter.options().dtype(at::kFloat).requires_grad(false)));
  return zeros;
}

LossSums emptySums(const BlockPlan& plan, LossType type) {
  LossSums sums;
  sums.denominator = type == LossType::kDflash ? 0.0 : static_cast<double>(plan.batch());
  return sums;
}

/// Gradients as autograd makes them.
PendingMicroBatch runMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                                const BlockPlan& plan, const ObjectiveOptions& options) {
  const at::Tensor hidden = draftHidden(drafter, head, contextFeature, plan);
  Objective objective;
  {
    const PhaseScope phase(devices::Phase::kLoss);
    objective = evaluateObjective(hidden, head, plan, options);
  }
  const PhaseScope phase(devices::Phase::kBackward);
  PendingMicroBatch result;
  result.sums = objective.pending(plan, options.type);
  result.gradients = torch::autograd::grad({objective.numerator}, drafter.parameters());
  return result;
}

}  // namespace

at::Tensor draftHidden(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                       const BlockPlan& plan) {
  const DraftMasks masks = makeDraftMasks(drafter.config(), plan.anchors.positions, plan.anchors.keep, plan.context);
  const PhaseScope phase(devices::Phase::kDrafterForward);
  return drafter.forward(contextFeature, head.embed(plan.blockIds), plan.positions, masks);
}

PendingSums backwardMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                               const BlockPlan& plan, const ObjectiveOptions& options) {
  if (plan.blocks() == 0) return {at::Tensor(), emptySums(plan, options.type)};
  return runMicroBatch(drafter, head, contextFeature, plan, options).sums;
}

PendingMicroBatch startMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                                  const BlockPlan& plan, const ObjectiveOptions& options) {
  if (plan.blocks() == 0) return {{at::Tensor(), emptySums(plan, options.type)}, zeroGradients(drafter)};
  PendingMicroBatch result = runMicroBatch(drafter, head, contextFeature, plan, options);
  for (at::Tensor& gradient : result.gradients) gradient = gradient.to(at::kFloat);
  return result;
}

MicroBatchResult trainMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                                 const BlockPlan& plan, const ObjectiveOptions& options) {
  PendingMicroBatch started = startMicroBatch(drafter, head, contextFeature, plan, options);
  const PhaseScope phase(devices::Phase::kBackward);
  return {started.sums.read(), std::move(started.gradients)};
}

LossSums evaluateMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                            const BlockPlan& plan, const ObjectiveOptions& options) {
  if (plan.blocks() == 0) return emptySums(plan, options.type);
  const c10::NoGradGuard frozen;
  const PhaseScope phase(devices::Phase::kEvaluate);
  const at::Tensor hidden = draftHidden(drafter, head, contextFeature, plan);
  return evaluateObjective(hidden, head, plan, options).sums(plan, options.type);
}

}  // namespace redraft::model
