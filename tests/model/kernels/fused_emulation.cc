#include "tests/model/kernels/fused_emulation.h"

#include <string_view>

#include "base/error.h"
#include "model/kernels/cuda/cross_entropy.cuh"
#include "model/kernels/cuda/optimizer.cuh"
#include "model/kernels/cuda/pointwise.cuh"
#include "model/kernels/cuda/rms_norm.cuh"
#include "model/kernels/gpu_program.h"

namespace redraft::model::testing {
namespace {

template <class Argument>
struct Call {
  const gpu::FusedLaunch& launch;
  ThreadOrder order;

  void operator()(void (*kernel)(const Argument&)) const {
    // A copy, as a launch makes one.
    const Argument argument = *static_cast<const Argument*>(launch.argument);
    emulateLaunch(launch.shape, order, [&] { kernel(argument); });
  }
};

// As row_ops.cu and optimizer.cu declare them.
template <class T>
void run(const gpu::FusedLaunch& launch, ThreadOrder order) {
  const std::string_view entry = launch.entry;
  if (entry == "rms_norm_forward") return Call<gpu::RmsNormForward>{launch, order}(gpu::rmsNormForward<T>);
  if (entry == "rms_norm_backward") return Call<gpu::RmsNormBackward>{launch, order}(gpu::rmsNormBackward<T>);
  if (entry == "rms_norm_backward_weight")
    return Call<gpu::RmsNormBackwardWeight>{launch, order}(gpu::rmsNormBackwardWeight<T>);
  if (entry == "silu_mul_forward") return Call<gpu::SiluMulForward>{launch, order}(gpu::siluMulForward<T>);
  if (entry == "silu_mul_backward") return Call<gpu::SiluMulBackward>{launch, order}(gpu::siluMulBackward<T>);
  if (entry == "rope") return Call<gpu::Rope>{launch, order}(gpu::rope<T>);
  if (entry == "cross_entropy_forward")
    return Call<gpu::CrossEntropyForward>{launch, order}(gpu::crossEntropyForward<T>);
  if (entry == "cross_entropy_backward")
    return Call<gpu::CrossEntropyBackward>{launch, order}(gpu::crossEntropyBackward<T>);
  if (entry == "adamw_step") return Call<gpu::AdamwStep>{launch, order}(gpu::adamwStep);
  if (entry == "sum_of_squares_partial") return Call<gpu::SumsOfSquares>{launch, order}(gpu::sumOfSquaresPartial<T>);
  if (entry == "sum_of_squares_total") return Call<gpu::SumsOfSquares>{launch, order}(gpu::sumOfSquaresTotal);
  if (entry == "scale_all") return Call<gpu::ScaleAll>{launch, order}(gpu::scaleAll);
  REDRAFT_CHECK(false, "no such kernel: add it here");
}

}  // namespace

FusedEmulationScope::FusedEmulationScope(ThreadOrder order) {
  gpu::setFusedEmulation([order](const gpu::FusedLaunch& launch) {
    launch.element == at::kBFloat16 ? run<gpu::BFloat16>(launch, order) : run<gpu::Float32>(launch, order);
  });
}
FusedEmulationScope::~FusedEmulationScope() { gpu::setFusedEmulation(nullptr); }

}  // namespace redraft::model::testing
