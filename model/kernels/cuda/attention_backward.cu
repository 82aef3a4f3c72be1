// Compiled by NVRTC, specialised by -DREDRAFT_HEAD_DIM and -DREDRAFT_MASK_RULE.
#include "model/kernels/cuda/attention_backward.cuh"

using namespace redraft::model;
using gpu::BFloat16;

#define REDRAFT_BACKWARD(entry, kernel)                                                                       \
  extern "C" __global__ void __launch_bounds__(gpu::kThreads, 2)                                              \
      entry(const BFloat16* q, const BFloat16* k, const BFloat16* v, const BFloat16* out, const float* lse,   \
            const BFloat16* gradOut, BFloat16* gradQ, BFloat16* gradK, BFloat16* gradV,                       \
            const std::int32_t* rowOffsets, const std::uint32_t* columns, const std::int32_t* anchors,        \
            const std::uint8_t* keep, const AttentionShape shape, float* delta) {                             \
    gpu::kernel<REDRAFT_HEAD_DIM, MaskRule::REDRAFT_MASK_RULE>(                                               \
        {q, k, v, out, lse, gradOut, gradQ, gradK, gradV, rowOffsets, columns, anchors, keep, delta}, shape); \
  }

REDRAFT_BACKWARD(attention_backward_queries, attentionBackwardQueries)
REDRAFT_BACKWARD(attention_backward_keys, attentionBackwardKeys)
