#include "model/objective.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"
#include "model/kernels/ops.h"
#include "model/module_scope.h"
#include "model/recompute.h"

namespace redraft::model {

namespace {

constexpr double kDpaceAlpha = 0.5;

/// Per slot, flat: cross-entropy (differentiable in the hidden states), argmax, probability of the label.
struct SlotResults {
  at::Tensor crossEntropy, argmax, labelProbability;
};

/// LM head and cross-entropy of some rows. hidden [R, H], labels and valid [R].
std::vector<at::Tensor> scoreRows(const at::Tensor& hidden, const TargetHead& head, const at::Tensor& labels,
                                  const at::Tensor& valid) {
  const ModuleScope module("loss");
  // Scratch on the current device, as a factory call without an index gives it.
  const at::Tensor ignored = at::zeros(labels.sizes(), labels.options().device(at::Device(labels.device().type())));
  auto [loss, argmax, probability] = crossEntropy(head.logits(hidden), at::where(valid, labels, ignored));
  return {loss, argmax, probability};
}

SlotResults scoreWhole(const at::Tensor& hidden, const TargetHead& head, const at::Tensor& labels,
                       const at::Tensor& valid) {
  const std::vector<at::Tensor> results = scoreRows(hidden, head, labels, valid);
  return {results[0], results[1], results[2]};
}

/// The same by slices of `rows` rows, nothing kept of a slice but its hidden states.
SlotResults scoreByChunks(const at::Tensor& hidden, const TargetHead& head, const at::Tensor& labels,
                          const at::Tensor& valid, std::int64_t rows) {
  const std::vector<at::Tensor> hiddens = hidden.split(rows);
  const std::vector<at::Tensor> labelSlices = labels.split(rows);
  const std::vector<at::Tensor> validSlices = valid.split(rows);
  std::vector<at::Tensor> losses, argmaxes, probabilities;
  for (std::size_t i = 0; i < hiddens.size(); ++i) {
    const auto score = [head, label = labelSlices[i], mask = validSlices[i]](const at::Tensor& slice) {
      return scoreRows(slice, head, label, mask);
    };
    const std::vector<at::Tensor> results = recomputeInBackward(score, hiddens[i], static_cast<std::int64_t>(i));
    losses.push_back(results[0]);
    argmaxes.push_back(results[1]);
    probabilities.push_back(results[2]);
  }
  return {at::cat(losses), at::cat(argmaxes), at::cat(probabilities)};
}

/// Sums from each slot to the last. LibTorch's cumsum on GPUs is not deterministic; the few slots are added one by one.
at::Tensor suffixSums(const at::Tensor& x) {
  if (!x.is_cuda()) return x.flip({-1}).cumsum(-1).flip({-1});
  std::vector<at::Tensor> slots = x.unbind(-1);
  for (std::size_t k = slots.size(); k > 1; --k) slots[k - 2] = slots[k - 2] + slots[k - 1];
  return at::stack(slots, -1);
}

double ratio(double numerator, double denominator) { return denominator == 0 ? 0.0 : numerator / denominator; }

}  // namespace

const std::vector<std::string>& lossTypeNames() {
  static const std::vector<std::string> names = {"dflash", "dpace", "dpace-cumulative-confidence-only",
                                                 "dpace-continuation-value-only"};
  return names;
}

std::optional<LossType> lossTypeFromName(const std::string& name) {
  const auto& names = lossTypeNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<LossType>(found - names.begin());
}

const std::string& lossTypeName(LossType type) { return lossTypeNames().at(static_cast<std::size_t>(type)); }

LossSums& LossSums::operator+=(const LossSums& other) {
  numerator += other.numerator;
  denominator += other.denominator;
  correct += other.correct;
  valid += other.valid;
  acceptedSlots += other.acceptedSlots;
  blocks += other.blocks;
  return *this;
}

double LossSums::loss() const { return ratio(numerator, denominator); }
double LossSums::accuracy() const { return ratio(correct, valid); }
double LossSums::acceptanceLength() const { return blocks == 0 ? 0.0 : 1.0 + acceptedSlots / blocks; }

LossSums PendingSums::read() const {
  if (!values.defined()) return known;
  const at::Tensor host = values.cpu();
  const auto read = host.accessor<double, 1>();
  LossSums sums = known;
  sums.numerator = read[0];
  sums.correct = read[1];
  sums.acceptedSlots = read[2];
  return sums;
}

PendingSums Objective::pending(const BlockPlan& plan, LossType type) const {
  PendingSums sums;
  sums.values = at::cat({numerator.detach().view({1}), hitSums});
  sums.known.denominator = type == LossType::kDflash ? plan.weightSum : static_cast<double>(plan.batch());
  sums.known.valid = static_cast<double>(plan.validCount);
  sums.known.blocks = static_cast<double>(plan.keptBlocks);
  return sums;
}

Objective evaluateObjective(const at::Tensor& hidden, const TargetHead& head, const BlockPlan& plan,
                            const ObjectiveOptions& options) {
  REDRAFT_CHECK(options.chunkBlocks >= 0, "a chunk has no negative size");
  const at::Tensor rows = hidden.reshape({-1, hidden.size(-1)});
  const at::Tensor labels = plan.labels.view(-1);
  const at::Tensor valid = plan.valid.view(-1);
  const bool whole = options.chunkBlocks == 0;
  const SlotResults slots = whole ? scoreWhole(rows, head, labels, valid)
                                  : scoreByChunks(rows, head, labels, valid, options.chunkBlocks * plan.blockSize());
  const ModuleScope module("loss");
  const at::Tensor weights = options.type == LossType::kDflash
                                 ? plan.weights
                                 : dpaceWeights(options.type, slots.labelProbability.view_as(plan.valid), plan.valid);
  const at::Tensor hits = at::eq(slots.argmax, labels).logical_and_(valid).view_as(plan.valid);
  const at::Tensor accepted = hits.narrow(-1, 1, plan.blockSize() - 1).cumprod(-1);
  Objective objective;
  objective.numerator = at::sum(weights.view(-1) * slots.crossEntropy, at::kDouble);
  objective.hitSums = at::stack({hits.sum(), accepted.sum()}).to(at::kDouble);
  return objective;
}

at::Tensor dpaceWeights(LossType type, const at::Tensor& labelProbability, const at::Tensor& valid) {
  const c10::NoGradGuard detached;
  const at::Tensor mask = valid.to(at::kFloat);
  // (1 - alpha) p + alpha where valid, 1 elsewhere.
  const at::Tensor confidence = (labelProbability - 1.0).mul_(mask).mul_(1.0 - kDpaceAlpha).add_(1.0);
  const at::Tensor product = confidence.cumprod(-1);
  if (type == LossType::kDpaceCumulativeConfidence) return product.mul(mask);
  const at::Tensor tail = suffixSums(product * mask);
  if (type == LossType::kDpaceContinuationValue) return tail.div(product).mul_(mask);
  return tail.mul(mask);
}

}  // namespace redraft::model
