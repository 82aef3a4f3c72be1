#pragma once
// One micro-batch of drafter training: masks, forward, loss, backward. What it returns is not normalised, so that
// whoever combines micro-batches (a pairwise tree over their global index) divides once by the global denominator.

#include <ATen/core/Tensor.h>

#include <vector>

#include "model/blocks.h"
#include "model/drafter.h"
#include "model/objective.h"
#include "model/target.h"

namespace redraft::model {

struct MicroBatchResult {
  LossSums sums;
  std::vector<at::Tensor> gradients;  // of sums.numerator, float32, in the order of the drafter's parameters
};

/// The same while the device still works on it.
struct PendingMicroBatch {
  PendingSums sums;
  std::vector<at::Tensor> gradients;
};

/// Forward and backward, without waiting for the device. The gradients go to the hooks of the drafter's parameters
/// alone, one a parameter; a plan without blocks makes none.
PendingSums backwardMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                               const BlockPlan& plan, const ObjectiveOptions& options);

/// As trainMicroBatch() below, without waiting for the device.
PendingMicroBatch startMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                                  const BlockPlan& plan, const ObjectiveOptions& options);

/// contextFeature [B, S, K · H], plan, head and drafter on one device, which is the calling thread's current one. The
/// drafter's .grad fields are not touched. A plan without blocks gives zeros.
MicroBatchResult trainMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                                 const BlockPlan& plan, const ObjectiveOptions& options);

/// The same sums without gradients, for held-out data.
LossSums evaluateMicroBatch(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                            const BlockPlan& plan, const ObjectiveOptions& options);

/// The drafter's output for a plan: [B, N·b, H].
at::Tensor draftHidden(const Drafter& drafter, const TargetHead& head, const at::Tensor& contextFeature,
                       const BlockPlan& plan);

}  // namespace redraft::model
