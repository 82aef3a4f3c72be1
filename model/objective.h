#pragma once
// The training objective: cross-entropy at the same position, weighted by slot, or by D-PACE. Numerators and
// denominators come apart, so that a mean over any number of micro-batches and drafters is exact. Source: SpecForge,
// specforge/algorithms/common/dflash_family_model.py (loss, D-PACE weights) and core/chunking.py.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/blocks.h"
#include "model/target.h"

namespace redraft::model {

enum class LossType {
  kDflash,                     // weights: plan.weights; denominator Σ weights
  kDpace,                      // W_k = Σ_{i≥k} P_i valid_i; denominator B, as for the two below
  kDpaceCumulativeConfidence,  // W_k = P_k
  kDpaceContinuationValue,     // W_k = Σ_{i≥k} P_i valid_i / P_k
};

/// The field's names: "dflash", "dpace", "dpace-cumulative-confidence-only", "dpace-continuation-value-only".
const std::vector<std::string>& lossTypeNames();
std::optional<LossType> lossTypeFromName(const std::string& name);
const std::string& lossTypeName(LossType type);

struct ObjectiveOptions {
  LossType type = LossType::kDflash;
  /// Blocks of one slice through LM head and cross-entropy, recomputed in backward; 0: one slice, kept. Changes no bit.
  std::int64_t chunkBlocks = 128;
};

/// Sums over a batch; sums of them are sums over more. In float64.
struct LossSums {
  double numerator = 0;
  double denominator = 0;    // kDflash: Σ weights; D-PACE: rows
  double correct = 0;        // valid slots whose argmax is the label
  double valid = 0;          // valid slots
  double acceptedSlots = 0;  // Σ over kept blocks of the valid, correct slots before the first that is not
  double blocks = 0;         // kept blocks

  LossSums& operator+=(const LossSums& other);
  double loss() const;      // numerator / denominator; 0 where there is nothing
  double accuracy() const;  // correct / valid, undecayed for every loss type
  /// Mean tokens a round if these blocks were drafted: the anchor's successor is the target's, so 1 + acceptedSlots /
  /// blocks.
  double acceptanceLength() const;
};

/// The sums of a batch while the device still works on them.
struct PendingSums {
  at::Tensor values;  // float64 [3] there: numerator, correct, acceptedSlots; undefined where all is known
  LossSums known;     // the others

  /// Waits for the device, once.
  LossSums read() const;
};

/// The differentiable part, and the sums. D-PACE's weights are detached.
struct Objective {
  at::Tensor numerator;  // 0-dim float64 on the device of `hidden`
  at::Tensor hitSums;    // float64 [2]: correct, acceptedSlots; not yet read back

  PendingSums pending(const BlockPlan& plan, LossType type) const;
  LossSums sums(const BlockPlan& plan, LossType type) const { return pending(plan, type).read(); }
};

/// hidden [B, N·b, H]: the drafter's output. plan: on its device. The calling thread's current device is that device.
Objective evaluateObjective(const at::Tensor& hidden, const TargetHead& head, const BlockPlan& plan,
                            const ObjectiveOptions& options);

/// Detached weights [B, N, b] float32 of a D-PACE type, for label probabilities and valid slots of that shape. alpha =
/// 0.5: s_k = (1 - alpha) p_k + alpha where valid, 1 elsewhere; P_k = Π_{i≤k} s_i.
at::Tensor dpaceWeights(LossType type, const at::Tensor& labelProbability, const at::Tensor& valid);

}  // namespace redraft::model
