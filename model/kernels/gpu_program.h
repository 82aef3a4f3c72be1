#pragma once
// The fused operations' kernels (model/kernels/cuda/row_ops.cu, optimizer.cu) as LibTorch's own are: one handle a
// process that works in every context, launched on the current stream. Not by way of the KernelCache, whose policies
// and whose log are the attention's; a driver of their own keeps their launches out of a run's log.

#include <ATen/core/Tensor.h>

#include <functional>

#include "devices/driver.h"
#include "model/kernels/cuda/gpu_sources.h"

namespace redraft::model::gpu {

/// A kernel and its one parameter, a structure that is copied at the launch.
struct FusedLaunch {
  FusedProgram program;
  at::ScalarType element;  // float32 or bfloat16
  const char* entry;
  devices::LaunchShape shape;
  const void* argument;
};

/// On the current stream of `device`, which is made current for the call; an empty grid is no launch. The first call
/// for an architecture compiles (or takes from ArtefactStore::defaultFolder()) and loads, and others wait for it.
/// Every thread may call. Throws DeviceError naming the entry, and Error(kEnvironment) where NVRTC or CUDA is missing.
void launchFused(at::Device device, const FusedLaunch& launch);

/// For tests: what runs launches for CPU tensors (tests/model/kernels/fused_emulation.h); null: they are refused.
using FusedEmulation = std::function<void(const FusedLaunch&)>;
void setFusedEmulation(FusedEmulation emulation);

}  // namespace redraft::model::gpu
