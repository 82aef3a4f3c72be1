#include "model/blocks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/exact_math.h"
#include "base/philox.h"
#include "model/device_copy.h"

namespace redraft::model {

namespace {

using Row = at::TensorAccessor<bool, 1>;

std::vector<std::int64_t> candidates(const Row& mask) {
  std::vector<std::int64_t> found;
  for (std::int64_t a = 0; a + 1 < mask.size(0); ++a) {
    if (mask[a] && mask[a + 1]) found.push_back(a);
  }
  return found;
}

/// The first `count` places of a Fisher–Yates shuffle, sorted.
std::vector<std::int64_t> drawSorted(std::vector<std::int64_t> among, std::size_t count, CounterRng rng) {
  count = std::min(count, among.size());
  for (std::size_t i = 0; i < count; ++i) std::swap(among[i], among[i + rng.below(among.size() - i)]);
  among.resize(count);
  std::sort(among.begin(), among.end());
  return among;
}

/// exp(-max(k - 1, 0) / gamma) for k < blockSize; 1 throughout without a gamma.
std::vector<float> decayBySlot(std::int64_t blockSize, std::optional<double> gamma) {
  std::vector<float> decay(static_cast<std::size_t>(blockSize), 1.0f);
  if (!gamma.has_value() || *gamma <= 0) return decay;
  for (std::size_t k = 2; k < decay.size(); ++k)
    decay[k] = static_cast<float>(exactExp(-static_cast<double>(k - 1) / *gamma));
  return decay;
}

void checkHostMask(const at::Tensor& lossMask) {
  REDRAFT_CHECK(lossMask.is_cpu() && lossMask.dim() == 2 && lossMask.scalar_type() == at::kBool,
                "a loss mask is bool [B, S] on the CPU");
}

/// Writes one block's rows of a plan.
class BlockWriter {
 public:
  BlockWriter(BlockPlan& plan, const at::Tensor& ids, const at::Tensor& lossMask, std::int64_t maskTokenId,
              std::vector<float> decay)
      : plan_(plan),
        ids_(ids.accessor<std::int64_t, 2>()),
        mask_(lossMask.accessor<bool, 2>()),
        anchors_(plan.anchors.positions.accessor<std::int64_t, 2>()),
        keep_(plan.anchors.keep.accessor<bool, 2>()),
        blockIds_(plan.blockIds.accessor<std::int64_t, 2>()),
        positions_(plan.positions.accessor<std::int64_t, 2>()),
        labels_(plan.labels.accessor<std::int64_t, 3>()),
        valid_(plan.valid.accessor<bool, 3>()),
        weights_(plan.weights.accessor<float, 3>()),
        maskTokenId_(maskTokenId),
        decay_(std::move(decay)) {}

  void write(std::int64_t row, std::int64_t block) {
    const std::int64_t anchor = anchors_[row][block];
    const bool kept = keep_[row][block];
    const std::int64_t length = ids_.size(1);
    REDRAFT_CHECK(0 <= anchor && anchor < length, "an anchor lies inside its row");
    plan_.keptBlocks += kept ? 1 : 0;
    const auto blockSize = static_cast<std::int64_t>(decay_.size());
    for (std::int64_t k = 0; k < blockSize; ++k) {
      const std::int64_t position = anchor + k;
      const std::int64_t slot = block * blockSize + k;
      const bool valid = kept && k > 0 && position < length && mask_[row][position];
      blockIds_[row][slot] = kept && k == 0 ? ids_[row][anchor] : maskTokenId_;
      positions_[row][slot] = position;
      if (!valid) continue;
      const float weight = decay_[static_cast<std::size_t>(k)];
      labels_[row][block][k] = ids_[row][position];
      valid_[row][block][k] = true;
      weights_[row][block][k] = weight;
      plan_.weightSum += weight;
      ++plan_.validCount;
    }
  }

 private:
  BlockPlan& plan_;
  at::TensorAccessor<std::int64_t, 2> ids_;
  at::TensorAccessor<bool, 2> mask_;
  at::TensorAccessor<std::int64_t, 2> anchors_;
  at::TensorAccessor<bool, 2> keep_;
  at::TensorAccessor<std::int64_t, 2> blockIds_, positions_;
  at::TensorAccessor<std::int64_t, 3> labels_;
  at::TensorAccessor<bool, 3> valid_;
  at::TensorAccessor<float, 3> weights_;
  std::int64_t maskTokenId_;
  std::vector<float> decay_;
};

}  // namespace

Anchors drawAnchors(const at::Tensor& lossMask, std::int64_t count, std::uint64_t seed, std::int64_t step,
                    const std::vector<std::int64_t>& sampleIds) {
  checkHostMask(lossMask);
  REDRAFT_CHECK(count > 0 && lossMask.size(0) == static_cast<std::int64_t>(sampleIds.size()), "a sample id a row");
  const auto mask = lossMask.accessor<bool, 2>();
  std::vector<std::vector<std::int64_t>> drawn;
  std::size_t width = 0;
  for (std::size_t row = 0; row < sampleIds.size(); ++row) {
    CounterRng rng(seed, "anchors", static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sampleIds[row]));
    drawn.push_back(drawSorted(candidates(mask[static_cast<std::int64_t>(row)]), static_cast<std::size_t>(count), rng));
    width = std::max(width, drawn.back().size());
  }
  const std::vector<std::int64_t> shape = {lossMask.size(0), static_cast<std::int64_t>(width)};
  Anchors anchors = {at::zeros(shape, at::kLong), at::zeros(shape, at::kBool)};
  auto positions = anchors.positions.accessor<std::int64_t, 2>();
  auto keep = anchors.keep.accessor<bool, 2>();
  for (std::size_t row = 0; row < drawn.size(); ++row) {
    for (std::size_t j = 0; j < drawn[row].size(); ++j) {
      positions[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(j)] = drawn[row][j];
      keep[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(j)] = true;
    }
  }
  return anchors;
}

std::int64_t countAnchorCandidates(const at::Tensor& lossMask) {
  checkHostMask(lossMask);
  const auto mask = lossMask.accessor<bool, 2>();
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < lossMask.size(0); ++row)
    count += static_cast<std::int64_t>(candidates(mask[row]).size());
  return count;
}

BlockPlan BlockPlan::to(at::Device device) const {
  BlockPlan moved = *this;
  for (at::Tensor* tensor : {&moved.anchors.positions, &moved.anchors.keep, &moved.blockIds, &moved.positions,
                             &moved.labels, &moved.valid, &moved.weights}) {
    *tensor = upload(*tensor, device);
  }
  return moved;
}

std::vector<at::Tensor> BlockPlan::tensors() const {
  return {anchors.positions, anchors.keep, blockIds, positions, labels, valid, weights};
}

BlockPlan planBlocks(const at::Tensor& ids, const at::Tensor& lossMask, const Anchors& anchors, std::int64_t blockSize,
                     std::int64_t maskTokenId, std::optional<double> gamma) {
  checkHostMask(lossMask);
  REDRAFT_CHECK(ids.is_cpu() && ids.sizes() == lossMask.sizes(),
                "ids and their mask lie on the CPU and have one shape");
  const std::int64_t batch = ids.size(0);
  const std::int64_t blocks = anchors.width();
  BlockPlan plan;
  plan.context = ids.size(1);
  plan.anchors = anchors;
  plan.blockIds = at::empty({batch, blocks * blockSize}, at::kLong);
  plan.positions = at::empty({batch, blocks * blockSize}, at::kLong);
  plan.labels = at::zeros({batch, blocks, blockSize}, at::kLong);
  plan.valid = at::zeros({batch, blocks, blockSize}, at::kBool);
  plan.weights = at::zeros({batch, blocks, blockSize}, at::kFloat);
  BlockWriter writer(plan, ids, lossMask, maskTokenId, decayBySlot(blockSize, gamma));
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) writer.write(row, block);
  }
  return plan;
}

}  // namespace redraft::model
