#pragma once
// Finds the CUDA driver library (libredraft_cuda.so, beside the program or in ../lib) and makes a driver from it.

#include <memory>
#include <string>

#include "devices/cuda/cuda_host.h"

namespace redraft::devices {

/// Throws Error(kEnvironment), with the remedy, when the library was not built, or the machine has no driver or no GPU.
std::unique_ptr<Driver> loadCudaDriver(const CudaOptions& options);

/// Why loadCudaDriver() would throw, or "" when it would not; for doctor and for named skips.
std::string whyNoCuda();

}  // namespace redraft::devices
