#include "model/pipeline/gradient_sum.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "base/error.h"
#include "model/device_copy.h"
#include "model/instrument.h"
#include "model/kernels/ops.h"

namespace redraft::model {

FlatLayout::FlatLayout(const std::vector<at::Tensor>& like) : device_(like.at(0).device()), offsets_({0}) {
  for (const at::Tensor& tensor : like) {
    shapes_.push_back(tensor.sizes().vec());
    offsets_.push_back(offsets_.back() + tensor.numel());
  }
}

at::Tensor FlatLayout::flatten(const std::vector<at::Tensor>& tensors) const {
  REDRAFT_CHECK(tensors.size() == shapes_.size(), "as many tensors as the layout has");
  at::Tensor flat = at::empty({size()}, at::TensorOptions().dtype(at::kFloat).device(device_));
  const std::vector<at::Tensor> parts = views(flat);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (tensors[i].defined()) {
      parts[i].copy_(tensors[i]);
    } else {
      parts[i].zero_();
    }
  }
  return flat;
}

std::vector<at::Tensor> FlatLayout::views(const at::Tensor& flat) const {
  std::vector<at::Tensor> parts;
  parts.reserve(shapes_.size());
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    parts.push_back(flat.narrow(0, offsets_[i], offsets_[i + 1] - offsets_[i]).view(shapes_[i]));
  }
  return parts;
}

at::Tensor combineGradients(at::Tensor left, at::Tensor right) { return addExact(left, right); }

GradientSum::GradientSum(RunMonitor& monitor, std::vector<std::string> members, std::int64_t leaves)
    : members_(static_cast<int>(members.size())),
      leaves_(leaves),
      shares_(monitor, members),
      slices_(monitor, members) {}

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

at::Tensor GradientSum::reduce(int member, std::vector<GradientTree::Node> nodes, at::Device device,
                               std::int64_t step) {
  Share share;
  std::vector<at::Tensor> vectors;
  for (GradientTree::Node& node : nodes) {
    share.levels.push_back(node.level);
    share.positions.push_back(node.position);
    vectors.push_back(std::move(node.value));
  }
  const std::int64_t size = vectors.at(0).numel();
  share.gradients = HandOff(std::move(vectors));

  instrument().syncPoint(SyncPoint::kCollectiveEnter, step);
  const auto shares = shares_.all(member, std::move(share), "the gradients");
  at::Tensor sum = reduceSlice(member, *shares, device);
  if (members_ > 1) {
    const auto slices = slices_.all(member, HandOff({std::move(sum)}), "the reduced slices");
    sum = at::empty({size}, at::TensorOptions().dtype(at::kFloat).device(device));
    for (int m = 0; m < members_; ++m) {
      const HandOff& slice = (*slices)[static_cast<std::size_t>(m)];
      slice.acquire(device);
      copyInto(sum.narrow(0, bound(size, m), bound(size, m + 1) - bound(size, m)), slice.tensors().front());
    }
  }
  instrument().syncPoint(SyncPoint::kCollectiveLeave, step);
  return sum;
}

}  // namespace redraft::model
