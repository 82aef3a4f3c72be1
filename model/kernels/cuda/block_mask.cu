// Compiled by NVRTC, specialised by -DREDRAFT_MASK_RULE.
#include "model/kernels/cuda/block_mask.cuh"

using namespace redraft::model;

extern "C" __global__ void __launch_bounds__(gpu::kThreads)
    block_mask_count(const std::int32_t* anchors, const std::uint8_t* keep, std::int32_t* counts,
                     const AttentionShape shape) {
  gpu::blockMaskCount(MaskRule::REDRAFT_MASK_RULE, anchors, keep, counts, shape);
}

extern "C" __global__ void __launch_bounds__(gpu::kThreads)
    block_mask_fill(const std::int32_t* anchors, const std::uint8_t* keep, const std::int32_t* counts,
                    std::int32_t* rowOffsets, std::uint32_t* columns, const AttentionShape shape) {
  gpu::blockMaskFill(MaskRule::REDRAFT_MASK_RULE, anchors, keep, counts, rowOffsets, columns, shape);
}
