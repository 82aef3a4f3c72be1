#pragma once
// A block mask's tiles, built by the GPU's own kernels (cuda/block_mask.cu) where its anchors lie.

#include <ATen/core/Tensor.h>

#include "model/kernels/attention.h"
#include "model/kernels/mask_geometry.h"

namespace redraft::model {

struct MaskTiles {
  at::Tensor rowOffsets;  // int32 [batch · query tiles + 1]
  at::Tensor columns;     // int32
};

/// The rows and columns that the CPU finds, element for element, on the current stream of the anchors' device. How many
/// columns there are is known there alone, so `columns` has batch · query tiles · key tiles elements, and those beyond
/// the last row's end are not written. `anchors` int32 and `keep` uint8, [batch, N], contiguous (causal: N = 0).
MaskTiles buildTilesOnGpu(MaskKind kind, AttentionShape shape, const at::Tensor& anchors, const at::Tensor& keep);

}  // namespace redraft::model
