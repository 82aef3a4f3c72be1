#pragma once
// Finds the libraries of the CUDA side, and makes a driver from the one that holds it (libredraft_cuda.so).

#include <memory>
#include <string>

#include "devices/cuda/cuda_host.h"

namespace redraft::devices {

/// Opens a library of this build (beside the program or in ../lib) and keeps it: one that holds a driver's state is not
/// unloaded under it. Throws Error(kEnvironment) when this build has none, and with `remedy` when it cannot be loaded.
void* openRuntimeLibrary(const std::string& name, const std::string& remedy);

/// Throws Error(kEnvironment), with the remedy, when the library was not built, or the machine has no driver or no GPU.
std::unique_ptr<Driver> loadCudaDriver(const CudaOptions& options);

/// What code is compiled for on a device of such a driver: 10 · major + minor. Throws DeviceError.
int cudaArchitecture(Driver& driver, int device);

/// Why loadCudaDriver() would throw, or "" when it would not; for doctor and for named skips.
std::string whyNoCuda();

}  // namespace redraft::devices
