#pragma once
// How attention is started: on the CPU by a call, on simulated devices by a launch of the same kernel, on a GPU by the
// launches of its program there.

#include <ATen/core/Tensor.h>

#include "model/kernels/attention_artefact.h"
#include "model/kernels/kernel_call.h"

namespace redraft::model {

void readMask(KernelCall& call, const BlockMask& mask);

/// `call` has the parameters of simd::ForwardParam or simd::BackwardParam in their order, shape included, and
/// then, for backward where runsGpuPrograms(), δ: float32 [B, Hq, Q], written by one of its kernels and read by the
/// other. Errors name the artefact and the query tensor: KernelCall::launch.
void launchAttention(KernelCall& call, const AttentionArtefact& artefact, const at::Tensor& q,
                     const AttentionShape& shape);

}  // namespace redraft::model
