// Compiled by NVRTC. Adds the digest of `count` bytes to `*sum`, which begins as zero.
#include "model/kernels/cuda/tensor_digest.cuh"

using namespace redraft::model;

extern "C" __global__ void __launch_bounds__(gpu::kDigestThreads)
    tensor_digest(const unsigned char* bytes, const std::int64_t count, gpu::DigestWord* sum) {
  const std::int64_t thread = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  gpu::DigestWord share = gpu::digestShare(bytes, count, thread, gridDim.x * static_cast<std::int64_t>(blockDim.x));
  for (int lanes = 16; lanes > 0; lanes /= 2) share += __shfl_xor_sync(0xffffffffu, share, lanes);
  if (threadIdx.x % 32 == 0 && share != 0) atomicAdd(sum, share);
}
