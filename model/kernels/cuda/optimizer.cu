// Compiled by NVRTC, specialised by -DREDRAFT_ELEMENT: whose squares are summed. All else is float32.
#include "model/kernels/cuda/optimizer.cuh"

using namespace redraft::model;

extern "C" __global__ void __launch_bounds__(gpu::kOptimizerThreads) adamw_step(const gpu::AdamwStep a) {
  gpu::adamwStep(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kOptimizerThreads)
    sum_of_squares_partial(const gpu::SumsOfSquares a) {
  gpu::sumOfSquaresPartial<gpu::REDRAFT_ELEMENT>(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kOptimizerThreads) sum_of_squares_total(const gpu::SumsOfSquares a) {
  gpu::sumOfSquaresTotal(a);
}

extern "C" __global__ void __launch_bounds__(gpu::kOptimizerThreads) scale_all(const gpu::ScaleAll a) {
  gpu::scaleAll(a);
}
