#pragma once
// Which blocks a step trains on, and what each slot of a block means. Anchors are drawn and plans are made on the CPU,
// from data that is there anyway; a plan then moves to the drafter's device as a whole. Source: SpecForge,
// specforge/algorithms/common/dflash_family_model.py (anchor sampling, objective weights).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace redraft::model {

struct Anchors {
  at::Tensor positions;  // int64 [B, N'], ascending in each row; 0 where dropped
  at::Tensor keep;       // bool [B, N']

  std::int64_t width() const { return positions.size(1); }
};

/// Draws at most `count` anchors a row, uniformly without replacement, among the positions a ≤ S - 2 with both a and a
/// + 1 supervised. N' is the smaller of `count` and the largest number of candidates of a row. A row's draw depends on
/// (seed, step, its sample id) alone. lossMask: bool [B, S] on the CPU. When no row has a candidate, N' is 0, and the
/// batch contributes nothing (SpecForge raises there; with exact global normalisation it need not).
Anchors drawAnchors(const at::Tensor& lossMask, std::int64_t count, std::uint64_t seed, std::int64_t step,
                    const std::vector<std::int64_t>& sampleIds);

/// Positions that drawAnchors chooses among, in all rows together.
std::int64_t countAnchorCandidates(const at::Tensor& lossMask);

/// Blocks of one batch, slot by slot. b: block size; slot k of block j stands for position a_j + k.
struct BlockPlan {
  std::int64_t context = 0;  // S
  Anchors anchors;
  at::Tensor blockIds;   // int64 [B, N·b]: the anchor's token and MASKs; a dropped block is MASK throughout
  at::Tensor positions;  // int64 [B, N·b]: a_j + k
  at::Tensor labels;     // int64 [B, N, b]: the token at a_j + k; 0 where not valid
  at::Tensor valid;      // bool [B, N, b]: kept, k > 0, inside the row, supervised
  at::Tensor weights;    // float [B, N, b]: valid · exp(-(k - 1) / gamma)
  double weightSum = 0;  // Σ weights, in float64
  std::int64_t validCount = 0;
  std::int64_t keptBlocks = 0;

  std::int64_t batch() const { return labels.size(0); }
  std::int64_t blocks() const { return labels.size(1); }
  std::int64_t blockSize() const { return labels.size(2); }
  BlockPlan to(at::Device device) const;
  std::vector<at::Tensor> tensors() const;
};

/// ids int64 [B, S], lossMask bool [B, S], both on the CPU. gamma empty or ≤ 0: no decay.
BlockPlan planBlocks(const at::Tensor& ids, const at::Tensor& lossMask, const Anchors& anchors, std::int64_t blockSize,
                     std::int64_t maskTokenId, std::optional<double> gamma);

}  // namespace redraft::model
