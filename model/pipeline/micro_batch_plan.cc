#include "model/pipeline/micro_batch_plan.h"

#include <string>

#include "base/error.h"

namespace redraft::model {

MicroBatchPlan::MicroBatchPlan(std::int64_t microBatches, int targets, int drafters)
    : targets_(targets), drafters_(drafters) {
  if (targets < 1 || drafters < 1) {
    throwBadInput("topology.roles", "a run needs at least one target and one drafter", "name a device for each");
  }
  if (microBatches < drafters) {
    throwBadInput("training.micro_batches",
                  std::to_string(microBatches) + " micro-batches cannot feed " + std::to_string(drafters) + " drafters",
                  "give at least one a drafter");
  }
  owner_.resize(static_cast<std::size_t>(microBatches));
  order_.reserve(owner_.size());
  const std::int64_t longest = (microBatches + drafters - 1) / drafters;
  // first() needs only the sizes, so the owners can be filled in by it.
  for (int d = 0; d < drafters; ++d) {
    for (std::int64_t i = first(d); i < last(d); ++i) owner_[static_cast<std::size_t>(i)] = d;
  }
  for (std::int64_t turn = 0; turn < longest; ++turn) {
    for (int d = 0; d < drafters; ++d) {
      if (first(d) + turn < last(d)) order_.push_back(first(d) + turn);
    }
  }
}

std::int64_t MicroBatchPlan::first(int drafter) const {
  return static_cast<std::int64_t>(owner_.size()) * drafter / drafters_;
}

MicroBatchRef MicroBatchPlan::at(std::int64_t sequence) const {
  const std::int64_t slot = sequence % microBatches();
  const std::int64_t index = order_[static_cast<std::size_t>(slot)];
  return {sequence, sequence / microBatches(), index, static_cast<int>(sequence % targets_),
          owner_[static_cast<std::size_t>(index)]};
}

std::vector<MicroBatchRef> MicroBatchPlan::ofDrafter(int drafter, std::int64_t step) const {
  std::vector<MicroBatchRef> mine;
  for (std::int64_t slot = 0; slot < microBatches(); ++slot) {
    const MicroBatchRef ref = at(step * microBatches() + slot);
    if (ref.drafter == drafter) mine.push_back(ref);
  }
  return mine;
}

std::vector<MicroBatchRef> MicroBatchPlan::ofTarget(int target, std::int64_t step) const {
  std::vector<MicroBatchRef> mine;
  for (std::int64_t slot = 0; slot < microBatches(); ++slot) {
    const MicroBatchRef ref = at(step * microBatches() + slot);
    if (ref.target == target) mine.push_back(ref);
  }
  return mine;
}

}  // namespace redraft::model
