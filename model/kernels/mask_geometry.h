#pragma once
// What the attention kernels of the CPU and of the GPU share: tile sizes, shapes, and which keys a query sees. Compiled
// by the C++ compiler and by NVRTC, which has no standard library (model/kernels/cuda gives it a <cstdint>).
//
// The training mask of DFlash (SpecForge's dflash_family_model), with query = j b + o:
//   M = keep_j ∧ ((kv < S ∧ kv < a_j ∧ [kv ≥ a_j + o - (W-1)]) ∨ (kv ≥ S ∧ (kv-S) div b = j ∧ [(kv-S) mod b ≤ o]))
// The bracketed terms hold for sliding layers only. So a query sees at most two ranges of keys.

#include <cstdint>

namespace redraft::model {

inline constexpr std::int64_t kQueryTile = 64;
inline constexpr std::int64_t kKeyTile = 64;
/// Bit of a column that marks a partial tile: not every query sees every key of it.
inline constexpr std::uint32_t kPartialTile = 0x80000000u;

enum class MaskRule : std::uint8_t { kCausal, kDraftFull, kDraftSliding };

/// A kernel's parameter, by value.
struct AttentionShape {
  std::int64_t batch, heads, keyHeads, queries, keys, headDim;
  std::int64_t context, blockSize, window, blocks;  // draft rules: S, b, W, N
  float scale;
};

struct KeyRange {
  std::int64_t begin = 0, end = 0;
  constexpr bool empty() const { return begin >= end; }
  constexpr bool holds(std::int64_t key) const { return begin <= key && key < end; }
};

struct VisibleKeys {
  KeyRange context;  // causal: all of it
  KeyRange own;      // the query's own block
  constexpr bool holds(std::int64_t key) const { return context.holds(key) || own.holds(key); }
};

constexpr std::int64_t tileCount(std::int64_t length, std::int64_t tile) { return (length + tile - 1) / tile; }

/// `anchors` and `keep` are those of the query's batch row; unused by the causal rule.
constexpr VisibleKeys visibleKeys(MaskRule rule, const AttentionShape& shape, const std::int32_t* anchors,
                                  const std::uint8_t* keep, std::int64_t query) {
  VisibleKeys seen;
  if (rule == MaskRule::kCausal) {
    const std::int64_t end = shape.keys - shape.queries + query + 1;
    seen.context.end = end < shape.keys ? end : shape.keys;
    return seen;
  }
  const std::int64_t block = query / shape.blockSize, slot = query % shape.blockSize;
  if (keep[block] == 0) return seen;
  const std::int64_t anchor = anchors[block], first = shape.context + block * shape.blockSize;
  seen.context.end = anchor < shape.context ? anchor : shape.context;
  seen.own = {first, first + shape.blockSize};
  if (rule == MaskRule::kDraftSliding) {
    const std::int64_t begin = anchor + slot - (shape.window - 1);
    seen.context.begin = begin > 0 ? begin : 0;
    seen.own.end = first + slot + 1;
  }
  return seen;
}

}  // namespace redraft::model
