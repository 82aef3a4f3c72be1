#pragma once
// Which keys a query sees: the training mask of DFlash (SpecForge's dflash_family_model) as at most two ranges of keys.
//   M = keep_j ∧ ((kv < S ∧ kv < a_j ∧ [kv ≥ a_j + o - (W-1)]) ∨ (kv ≥ S ∧ (kv-S) div b = j ∧ [(kv-S) mod b ≤ o]))
// with query = j b + o; the bracketed terms hold for sliding layers only.

#include <algorithm>
#include <cstdint>

#include "model/kernels/simd/attention_kernel.h"

namespace redraft::model::simd {

struct KeyRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

struct VisibleKeys {
  KeyRange context;  // causal: all of it
  KeyRange own;      // the query's own block
};

/// `anchors` and `keep` are those of the query's batch row; unused by the causal rule.
inline VisibleKeys visibleKeys(MaskRule rule, const AttentionShape& shape, const std::int32_t* anchors,
                               const std::uint8_t* keep, std::int64_t query) {
  VisibleKeys seen;
  if (rule == MaskRule::kCausal) {
    seen.context.end = std::min(shape.keys, shape.keys - shape.queries + query + 1);
    return seen;
  }
  const std::int64_t block = query / shape.blockSize, slot = query % shape.blockSize;
  if (keep[block] == 0) return seen;
  const std::int64_t anchor = anchors[block], first = shape.context + block * shape.blockSize;
  seen.context.end = std::min(anchor, shape.context);
  seen.own = {first, first + shape.blockSize};
  if (rule == MaskRule::kDraftSliding) {
    seen.context.begin = std::max<std::int64_t>(0, anchor + slot - (shape.window - 1));
    seen.own.end = first + slot + 1;
  }
  return seen;
}

}  // namespace redraft::model::simd
