#include "model/pipeline/gradient_sum.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/device_copy.h"
#include "model/kernels/ops.h"

namespace redraft::model {

namespace {

constexpr std::int64_t kPieceElements = std::int64_t{1} << 24;  // 64 MiB of each rank at a time

/// The nodes that each rank holds, by its leaves alone.
std::vector<std::vector<PairwiseTree<int>::Node>> nodePlaces(
    const std::vector<std::pair<std::int64_t, std::int64_t>>& ranks, std::int64_t leaves) {
  std::vector<std::vector<PairwiseTree<int>::Node>> places;
  for (const auto& [first, last] : ranks) {
    PairwiseTree<int> tree(leaves);
    for (std::int64_t i = first; i < last; ++i) tree.add({0, i, 0}, [](int, int) { return 0; });
    places.push_back(tree.take());
  }
  return places;
}

}  // namespace

at::Tensor combineGradients(const at::Tensor& left, const at::Tensor& right) { return addExact(left, right); }

GradientSum::GradientSum(RunMonitor& monitor, std::vector<std::string> members, std::int64_t leaves,
                         GradientRanks ranks)
    : members_(static_cast<int>(members.size())),
      leaves_(leaves),
      shares_(monitor, members),
      slices_(monitor, std::move(members)),
      ranks_(std::move(ranks)) {}

std::int64_t GradientSum::bound(std::int64_t size, int member) const { return size * member / members_; }

at::Tensor GradientSum::reduceSlice(int member, const std::vector<Share>& shares, at::Device device) const {
  GradientTree tree(leaves_);
  for (const Share& share : shares) {
    const std::vector<at::Tensor>& vectors = share.gradients.tensors();
    share.gradients.acquire(device);
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      const std::int64_t low = bound(vectors[i].numel(), member);
      const std::int64_t high = bound(vectors[i].numel(), member + 1);
      tree.add({share.levels[i], share.positions[i], copyTo(vectors[i].narrow(0, low, high - low), device)},
               combineGradients);
    }
  }
  return tree.root();
}

at::Tensor GradientSum::gatherSlices(int member, at::Tensor slice, std::int64_t size, at::Device device) {
  if (members_ == 1) return slice;
  const auto slices = slices_.all(member, HandOff({std::move(slice)}), "the reduced slices");
  at::Tensor sum = at::empty({size}, at::TensorOptions().dtype(at::kFloat).device(device));
  for (int m = 0; m < members_; ++m) {
    const HandOff& given = (*slices)[static_cast<std::size_t>(m)];
    given.acquire(device);
    copyInto(sum.narrow(0, bound(size, m), bound(size, m + 1) - bound(size, m)), given.tensors().front());
  }
  return sum;
}

at::Tensor GradientSum::gatherRanks(const std::vector<GradientTree::Node>& nodes, std::int64_t size,
                                    at::Device device) const {
  const std::vector<std::vector<PairwiseTree<int>::Node>> places = nodePlaces(ranks_.leaves, leaves_);
  std::int64_t slots = 1;  // a rank with fewer nodes leaves the rest empty: gathered vectors are of one size
  for (const auto& each : places) slots = std::max(slots, static_cast<std::int64_t>(each.size()));
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(device);
  at::Tensor sum = at::empty({size}, options);
  const std::int64_t step = std::max<std::int64_t>(1, kPieceElements / slots);
  for (std::int64_t low = 0; low < size; low += step) {
    const std::int64_t width = std::min(step, size - low);
    const at::Tensor own = at::zeros({slots, width}, options);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      own.select(0, static_cast<std::int64_t>(i)).copy_(nodes[i].value.narrow(0, low, width));
    const at::Tensor all = ranks_.collective->allGather(own.view(-1), "the gradients");
    GradientTree tree(leaves_);
    for (std::size_t r = 0; r < places.size(); ++r) {
      for (std::size_t i = 0; i < places[r].size(); ++i) {
        const at::Tensor row = all.select(0, static_cast<std::int64_t>(r));
        tree.add(
            {places[r][i].level, places[r][i].position, row.narrow(0, static_cast<std::int64_t>(i) * width, width)},
            combineGradients);
      }
    }
    sum.narrow(0, low, width).copy_(tree.root());
  }
  return sum;
}

at::Tensor GradientSum::reduceRanks(int member, const std::vector<Share>& shares, std::int64_t size,
                                    at::Device device) {
  at::Tensor sum;
  if (member == 0) {
    GradientTree tree(leaves_);
    for (const Share& share : shares) {
      share.gradients.acquire(device);
      const std::vector<at::Tensor>& vectors = share.gradients.tensors();
      for (std::size_t i = 0; i < vectors.size(); ++i)
        tree.add({share.levels[i], share.positions[i], copyTo(vectors[i], device)}, combineGradients);
    }
    sum = gatherRanks(tree.nodes(), size, device);
  }
  if (members_ == 1) return sum;
  const auto whole = slices_.all(member, member == 0 ? HandOff({sum}) : HandOff(), "the sum over all processes");
  whole->front().acquire(device);
  at::Tensor own = at::empty({size}, at::TensorOptions().dtype(at::kFloat).device(device));
  copyInto(own, whole->front().tensors().front());
  return own;
}

at::Tensor GradientSum::reduce(int member, std::vector<GradientTree::Node> nodes, at::Device device) {
  Share share;
  std::vector<at::Tensor> vectors;
  for (GradientTree::Node& node : nodes) {
    share.levels.push_back(node.level);
    share.positions.push_back(node.position);
    vectors.push_back(std::move(node.value));
  }
  const std::int64_t size = vectors.at(0).numel();
  share.gradients = HandOff(std::move(vectors));

  const auto shares = shares_.all(member, std::move(share), "the gradients");
  if (ranks_.collective != nullptr) return reduceRanks(member, *shares, size, device);
  return gatherSlices(member, reduceSlice(member, *shares, device), size, device);
}

}  // namespace redraft::model
