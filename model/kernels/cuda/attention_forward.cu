// Compiled by NVRTC, specialised by -DREDRAFT_HEAD_DIM and -DREDRAFT_MASK_RULE.
#include "model/kernels/cuda/attention_forward.cuh"

using namespace redraft::model;
using gpu::BFloat16;

extern "C" __global__ void __launch_bounds__(gpu::kThreads, 2)
    attention_forward(const BFloat16* q, const BFloat16* k, const BFloat16* v, BFloat16* out, float* lse,
                      const std::int32_t* rowOffsets, const std::uint32_t* columns, const std::int32_t* anchors,
                      const std::uint8_t* keep, const AttentionShape shape) {
  gpu::attentionForward<REDRAFT_HEAD_DIM, MaskRule::REDRAFT_MASK_RULE>(q, k, v, out, lse, rowOffsets, columns, anchors,
                                                                       keep, shape);
}
