#pragma once
// Who does what: which drafter takes which micro-batches of a step, in which order they go through the queue, and which
// target makes them. A function of three numbers.
//
// A drafter holds a contiguous run of the step's global micro-batch indices, so that its share of the gradient tree is
// made of whole subtrees. The queue interleaves the drafters' runs, so that none waits for another's to be used up.

#include <cstdint>
#include <vector>

namespace redraft::model {

struct MicroBatchRef {
  std::int64_t sequence = 0;  // number in the queue, since the run began
  std::int64_t step = 0;
  std::int64_t index = 0;  // global index within the step: the leaf of the gradient tree
  int target = 0;
  int drafter = 0;
};

class MicroBatchPlan {
 public:
  /// Throws Error(kBadInput) when a drafter would get no micro-batch.
  MicroBatchPlan(std::int64_t microBatches, int targets, int drafters);

  std::int64_t microBatches() const { return static_cast<std::int64_t>(order_.size()); }
  int targets() const { return targets_; }
  int drafters() const { return drafters_; }

  /// Global indices [first, last) of a drafter.
  std::int64_t first(int drafter) const;
  std::int64_t last(int drafter) const { return first(drafter + 1); }

  MicroBatchRef at(std::int64_t sequence) const;
  /// The micro-batches of one step for one drafter, in ascending index.
  std::vector<MicroBatchRef> ofDrafter(int drafter, std::int64_t step) const;
  std::vector<MicroBatchRef> ofTarget(int target, std::int64_t step) const;  // in queue order

 private:
  int targets_;
  int drafters_;
  std::vector<std::int64_t> order_;  // slot in the queue → index
  std::vector<int> owner_;           // index → drafter
};

}  // namespace redraft::model
