#pragma once
// What a test on a real GPU needs: LibTorch's CUDA half, CUDA's driver, and the compiler of our kernels.

#include <memory>
#include <string>

#include "devices/kernel_cache.h"

namespace redraft::model::testing {

struct GpuMachine {
  std::string whyNone;  // "" where there is all of it
  devices::Driver* driver = nullptr;
  devices::KernelCache::Compiler compile;
};

/// Made once a process and kept, driver included. Without a GPU nothing but `whyNone` is set.
const GpuMachine& gpuMachine();

/// Puts every specialisation of attention and mask in the store, as many at a time as the machine has cores.
void compileAll(const GpuMachine& machine);

}  // namespace redraft::model::testing
