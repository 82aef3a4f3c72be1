// Compiled by NVRTC, specialised by -DREDRAFT_ELEMENT=Float32 or BFloat16.
#include "model/kernels/cuda/cross_entropy.cuh"
#include "model/kernels/cuda/pointwise.cuh"
#include "model/kernels/cuda/rms_norm.cuh"

using namespace redraft::model;
using Element = gpu::REDRAFT_ELEMENT;

extern "C" __global__ void __launch_bounds__(gpu::kNormThreads) rms_norm_forward(const gpu::RmsNormForward a) {
  gpu::rmsNormForward<Element>(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kNormThreads, 2) rms_norm_backward(const gpu::RmsNormBackward a) {
  gpu::rmsNormBackward<Element>(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kSumColumns* gpu::kSumLanes)
    rms_norm_backward_weight(const gpu::RmsNormBackwardWeight a) {
  gpu::rmsNormBackwardWeight<Element>(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kPointThreads) silu_mul_forward(const gpu::SiluMulForward a) {
  gpu::siluMulForward<Element>(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kPointThreads) silu_mul_backward(const gpu::SiluMulBackward a) {
  gpu::siluMulBackward<Element>(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kPointThreads) rope(const gpu::Rope a) { gpu::rope<Element>(a); }

extern "C" __global__ void __launch_bounds__(gpu::kEntropyThreads)
    cross_entropy_forward(const gpu::CrossEntropyForward a) {
  gpu::crossEntropyForward<Element>(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kEntropyThreads)
    cross_entropy_backward(const gpu::CrossEntropyBackward a) {
  gpu::crossEntropyBackward<Element>(a);
}
