#pragma once
// Gradients of a step, summed over all micro-batches of all drafters by one pairwise tree over the global micro-batch
// index: the same bits whatever the number of drafters (pairwise_tree.h).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/pipeline/exchange.h"
#include "model/pipeline/hand_off.h"
#include "model/pipeline/pairwise_tree.h"

namespace redraft::model {

/// Several parameters' values as one float32 vector, in order.
class FlatLayout {
 public:
  explicit FlatLayout(const std::vector<at::Tensor>& like);

  std::int64_t size() const { return offsets_.back(); }
  /// A new vector on the tensors' device; an undefined tensor counts as zeros.
  at::Tensor flatten(const std::vector<at::Tensor>& tensors) const;
  /// Views of `flat`, in the parameters' shapes.
  std::vector<at::Tensor> views(const at::Tensor& flat) const;

 private:
  at::Device device_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<std::int64_t> offsets_;
};

using GradientTree = PairwiseTree<at::Tensor>;
at::Tensor combineGradients(at::Tensor left, at::Tensor right);

/// The all-reduce between the drafters of one process. Each member adds up its own slice of the vector, with copies of
/// the others' nodes on its own device, and the slices are then gathered; every element goes through the same tree
/// wherever that happens. Rejected: a running sum a rank, whose bits depend on the number of drafters.
class GradientSum {
 public:
  GradientSum(RunMonitor& monitor, std::vector<std::string> members, std::int64_t leaves);

  /// Called once a step by each member, on its own thread, with its nodes of float32 vectors [n] on `device`, from left
  /// to right. Returns the sum over all leaves, on `device`. Passes kCollectiveEnter and kCollectiveLeave with `step`.
  at::Tensor reduce(int member, std::vector<GradientTree::Node> nodes, at::Device device, std::int64_t step);

 private:
  struct Share {
    std::vector<int> levels;
    std::vector<std::int64_t> positions;
    HandOff gradients;
  };

  /// This member's slice of the whole sum.
  at::Tensor reduceSlice(int member, const std::vector<Share>& shares, at::Device device) const;
  std::int64_t bound(std::int64_t size, int member) const;

  int members_;
  std::int64_t leaves_;
  Exchange<Share> shares_;
  Exchange<HandOff> slices_;
};

}  // namespace redraft::model
