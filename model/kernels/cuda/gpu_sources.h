#pragma once
// The CUDA C++ of this folder as resources of the program, and what a specialisation of it is compiled from.

#include <vector>

#include "devices/driver.h"
#include "devices/nvrtc.h"
#include "model/kernels/mask_geometry.h"

namespace redraft::model::gpu {

enum class Program { kAttentionForward, kAttentionBackward, kBlockMask };

/// Head dims that attention is compiled for.
inline constexpr int kHeadDims[] = {16, 32, 64, 128};

/// `headDim` is one of kHeadDims; the mask does not depend on it.
devices::GpuSource gpuSource(Program program, int headDim, MaskRule rule);

/// Operations that are one kernel, or two, instead of a chain of LibTorch's elementwise ones.
enum class FusedProgram { kRowOps, kOptimizer };

/// row_ops.cu or optimizer.cu for elements of one type.
devices::GpuSource fusedSource(FusedProgram program, bool bfloat16);

/// The kernel tensor_digest of tensor_digest.cu.
devices::GpuSource tensorDigestSource();

/// A kernel of a program, and how it is launched. Parameters: simd::ForwardParam; simd::BackwardParam, then the address
/// of a pointer to float32 [batch, heads, queries] for δ; those of block_mask.cu.
struct Launch {
  const char* entry;
  devices::LaunchShape shape;
};
/// In the order in which they go onto one stream.
std::vector<Launch> launches(Program program, const AttentionShape& shape);

}  // namespace redraft::model::gpu
