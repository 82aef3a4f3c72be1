#pragma once
// Who does what: which drafter takes which micro-batches of a step, in which order they go through the queue, and which
// target makes them. A function of three numbers, and of the process where there are several.
//
// A drafter holds a contiguous run of the step's global micro-batch indices, so that its share of the gradient tree is
// made of whole subtrees. The queue interleaves the drafters' runs, so that none waits for another's to be used up.

#include <cstdint>
#include <vector>

namespace redraft::model {

/// Workers [firstX, lastX) of a run that one process has; a process has some of each, its targets feed its drafters.
struct WorkerPart {
  int firstTarget = 0, lastTarget = 0, firstDrafter = 0, lastDrafter = 0;
};

/// What rank `rank` of `ranks` processes has: a contiguous run of the drafters, and one of the targets. Throws
/// Error(kBadInput) when a rank would get none of either.
WorkerPart partOfRank(int targets, int drafters, int rank, int ranks);

struct MicroBatchRef {
  std::int64_t sequence = 0;  // number in the process's queue, since the run began
  std::int64_t step = 0;
  std::int64_t index = 0;  // global index within the step: the leaf of the gradient tree
  int target = 0;
  int drafter = 0;
};

class MicroBatchPlan {
 public:
  /// Throws Error(kBadInput) when a drafter would get no micro-batch.
  MicroBatchPlan(std::int64_t microBatches, int targets, int drafters);
  /// What one process of several does of it.
  MicroBatchPlan(std::int64_t microBatches, int targets, int drafters, const WorkerPart& part);

  /// Of a step, over all drafters; over those of this process.
  std::int64_t microBatches() const { return microBatches_; }
  std::int64_t queued() const { return static_cast<std::int64_t>(order_.size()); }
  const WorkerPart& part() const { return part_; }

  /// Global indices [first, last) of a drafter.
  std::int64_t first(int drafter) const;
  std::int64_t last(int drafter) const { return first(drafter + 1); }

  MicroBatchRef at(std::int64_t sequence) const;
  /// The micro-batches of one step for one drafter, in ascending index.
  std::vector<MicroBatchRef> ofDrafter(int drafter, std::int64_t step) const;
  std::vector<MicroBatchRef> ofTarget(int target, std::int64_t step) const;  // in queue order

 private:
  std::int64_t microBatches_;
  int drafters_;
  WorkerPart part_;
  std::vector<std::int64_t> order_;  // slot in the queue → index
  std::vector<int> owner_;           // slot in the queue → drafter
};

}  // namespace redraft::model
