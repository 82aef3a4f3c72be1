#pragma once
// Gradients of a step, summed over all micro-batches of all drafters by one pairwise tree over the global micro-batch
// index: the same bits whatever the number of drafters (pairwise_tree.h).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/pipeline/collective.h"
#include "model/pipeline/exchange.h"
#include "model/pipeline/hand_off.h"
#include "model/pipeline/pairwise_tree.h"

namespace redraft::model {

using GradientTree = PairwiseTree<at::Tensor>;
at::Tensor combineGradients(const at::Tensor& left, const at::Tensor& right);

/// The processes of a run, as the sum over all their drafters sees them.
struct GradientRanks {
  Collective* collective = nullptr;
  /// Global micro-batch indices [first, last) of each rank.
  std::vector<std::pair<std::int64_t, std::int64_t>> leaves;
};

/// The all-reduce between the drafters of a run. Each member adds up its own slice of the vector, with copies of
/// the others' nodes on its own device, and the slices are then gathered. With several processes the first member of
/// each adds up its process's nodes, gathers those of all processes, a bounded piece at a time, and finishes the tree.
/// Every element goes through the same tree wherever that happens. Rejected: a running sum a rank, and a library's
/// all-reduce, whose bits depend on the number of drafters.
class GradientSum {
 public:
  /// `members`: the drafters of this process.
  GradientSum(RunMonitor& monitor, std::vector<std::string> members, std::int64_t leaves, GradientRanks ranks = {});

  /// Called by each member, on its own thread and as often as the others, with its nodes of float32 vectors [n] on
  /// `device`, from left to right. Returns the sum over all leaves, on `device`, behind its current stream.
  at::Tensor reduce(int member, std::vector<GradientTree::Node> nodes, at::Device device);

 private:
  struct Share {
    std::vector<int> levels;
    std::vector<std::int64_t> positions;
    HandOff gradients;
  };

  /// This member's slice of the whole sum.
  at::Tensor reduceSlice(int member, const std::vector<Share>& shares, at::Device device) const;
  std::int64_t bound(std::int64_t size, int member) const;
  /// The whole sum, from the slices of all members, each on its own thread.
  at::Tensor gatherSlices(int member, at::Tensor slice, std::int64_t size, at::Device device);
  /// The whole sum over all processes; all members of this one take it from the first.
  at::Tensor reduceRanks(int member, const std::vector<Share>& shares, std::int64_t size, at::Device device);
  at::Tensor gatherRanks(const std::vector<GradientTree::Node>& nodes, std::int64_t size, at::Device device) const;

  int members_;
  std::int64_t leaves_;
  Exchange<Share> shares_;
  Exchange<HandOff> slices_;  // with several processes: of the whole sum
  GradientRanks ranks_;
};

}  // namespace redraft::model
