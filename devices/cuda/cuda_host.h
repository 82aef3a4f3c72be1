#pragma once
// What the CUDA driver library takes from the program that loads it. The library is loaded at run time, so that a
// machine without a GPU pays nothing for it; it holds no copy of this layer's state (roles, origins, refusals), but
// calls back.

#include <cstddef>
#include <memory>
#include <string>

#include "devices/driver.h"
#include "devices/topology.h"

namespace redraft::devices {

struct CudaHost {
  std::unique_ptr<DriverLog> (*makeLog)(std::size_t capacity) = nullptr;
  LogRecord (*newRecord)(CallKind kind) = nullptr;
  void (*noteRefusal)(Status status, std::string detail) = nullptr;
};

struct CudaOptions {
  Topology topology;  // deviceCount is taken from the machine
  std::size_t logCapacity = 1u << 16;
};

/// Exported by the library as "redraftMakeCudaDriver". Null, with a reason in `error`, when the machine has no usable
/// driver.
using MakeCudaDriver = Driver* (*)(const CudaHost& host, const CudaOptions& options, std::string& error);
inline constexpr const char* kMakeCudaDriver = "redraftMakeCudaDriver";

/// Exported as "redraftCudaArchitecture", for a driver that the library made: what code is compiled for on a device, 10
/// · major + minor of its compute capability.
using CudaArchitecture = Status (*)(Driver& driver, int device, int* version);
inline constexpr const char* kCudaArchitecture = "redraftCudaArchitecture";

}  // namespace redraft::devices
