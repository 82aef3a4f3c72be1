#pragma once
// The attention kernels that a "compile" chooses from: raw pointers and sizes, no LibTorch. Method: Dao,
// "FlashAttention-2", tile by tile with an online softmax; backward recomputes the probabilities from the stored
// log-sum-exp.
//
// Order of summation, whatever the thread count: a query's sums run over key tiles ascending; a key's over query tiles
// ascending and, within one, over the query heads of its group ascending.

#include <cstdint>

#include "model/kernels/mask_geometry.h"

namespace redraft::model::simd {

inline constexpr std::int64_t kMaxHeadDim = 512;

/// params: q, k, v, out, lse, rowOffsets, columns, anchors, keep (each the address of a pointer), shape (by value).
/// lse [batch, heads, queries] float32; -inf where a query sees nothing.
enum ForwardParam : int {
  kFwdQ,
  kFwdK,
  kFwdV,
  kFwdOut,
  kFwdLse,
  kFwdRowOffsets,
  kFwdColumns,
  kFwdAnchors,
  kFwdKeep,
  kFwdShape,
  kFwdCount
};
/// params: q, k, v, out, lse, gradOut, gradQ, gradK, gradV, rowOffsets, columns, anchors, keep, shape.
enum BackwardParam : int {
  kBwdQ,
  kBwdK,
  kBwdV,
  kBwdOut,
  kBwdLse,
  kBwdGradOut,
  kBwdGradQ,
  kBwdGradK,
  kBwdGradV,
  kBwdRowOffsets,
  kBwdColumns,
  kBwdAnchors,
  kBwdKeep,
  kBwdShape,
  kBwdCount
};

using Kernel = void (*)(void** params);

/// The kernel specialised for these; a head dim without its own specialisation gets the general one.
Kernel attentionForwardKernel(std::int64_t headDim, MaskRule rule, bool bfloat16);
Kernel attentionBackwardKernel(std::int64_t headDim, MaskRule rule, bool bfloat16);

}  // namespace redraft::model::simd
