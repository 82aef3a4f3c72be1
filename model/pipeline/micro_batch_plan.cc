#include "model/pipeline/micro_batch_plan.h"

#include <string>

#include "base/error.h"

namespace redraft::model {

WorkerPart partOfRank(int targets, int drafters, int rank, int ranks) {
  const auto share = [&](int workers, const char* role) {
    if (workers >= ranks) return;
    throwBadInput(std::string("topology.roles.") + role,
                  std::to_string(workers) + " cannot be shared by " + std::to_string(ranks) + " processes",
                  "every process needs a target and a drafter of its own: start fewer");
  };
  share(targets, "target");
  share(drafters, "drafter");
  return {targets * rank / ranks, targets * (rank + 1) / ranks, drafters * rank / ranks, drafters * (rank + 1) / ranks};
}

MicroBatchPlan::MicroBatchPlan(std::int64_t microBatches, int targets, int drafters)
    : MicroBatchPlan(microBatches, targets, drafters, {0, targets, 0, drafters}) {}

MicroBatchPlan::MicroBatchPlan(std::int64_t microBatches, int targets, int drafters, const WorkerPart& part)
    : microBatches_(microBatches), drafters_(drafters), part_(part) {
  if (targets < 1 || drafters < 1) {
    throwBadInput("topology.roles", "a run needs at least one target and one drafter", "name a device for each");
  }
  if (microBatches < drafters) {
    throwBadInput("training.micro_batches",
                  std::to_string(microBatches) + " micro-batches cannot feed " + std::to_string(drafters) + " drafters",
                  "give at least one a drafter");
  }
  REDRAFT_CHECK(part.firstTarget < part.lastTarget && part.firstDrafter < part.lastDrafter, "a process has workers");
  const std::int64_t longest = (microBatches + drafters - 1) / drafters;
  for (std::int64_t turn = 0; turn < longest; ++turn) {
    for (int d = part.firstDrafter; d < part.lastDrafter; ++d) {
      if (first(d) + turn >= last(d)) continue;
      order_.push_back(first(d) + turn);
      owner_.push_back(d);
    }
  }
}

std::int64_t MicroBatchPlan::first(int drafter) const { return microBatches_ * drafter / drafters_; }

MicroBatchRef MicroBatchPlan::at(std::int64_t sequence) const {
  const auto slot = static_cast<std::size_t>(sequence % queued());
  const int target = part_.firstTarget + static_cast<int>(sequence % (part_.lastTarget - part_.firstTarget));
  return {sequence, sequence / queued(), order_[slot], target, owner_[slot]};
}

std::vector<MicroBatchRef> MicroBatchPlan::ofDrafter(int drafter, std::int64_t step) const {
  std::vector<MicroBatchRef> mine;
  for (std::int64_t slot = 0; slot < queued(); ++slot) {
    const MicroBatchRef ref = at(step * queued() + slot);
    if (ref.drafter == drafter) mine.push_back(ref);
  }
  return mine;
}

std::vector<MicroBatchRef> MicroBatchPlan::ofTarget(int target, std::int64_t step) const {
  std::vector<MicroBatchRef> mine;
  for (std::int64_t slot = 0; slot < queued(); ++slot) {
    const MicroBatchRef ref = at(step * queued() + slot);
    if (ref.target == target) mine.push_back(ref);
  }
  return mine;
}

}  // namespace redraft::model
