#pragma once
// The fused operations on CPU tensors: their launches, as a GPU would get them, go to the emulator.

#include "tests/model/kernels/gpu_emulator.h"

namespace redraft::model::testing {

/// While it lives, gpu::rmsNorm() and its like take CPU tensors. One at a time.
class FusedEmulationScope {
 public:
  explicit FusedEmulationScope(ThreadOrder order = ThreadOrder::kAscending);
  ~FusedEmulationScope();
  FusedEmulationScope(const FusedEmulationScope&) = delete;
  FusedEmulationScope& operator=(const FusedEmulationScope&) = delete;
};

}  // namespace redraft::model::testing
