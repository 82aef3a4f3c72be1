#pragma once
// Work that a fault puts on the stream of a role, beside the role's own: on simulated devices and on GPUs alike.

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "devices/driver.h"
#include "devices/nvrtc.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

/// Name of the kernel that does nothing but last.
inline constexpr const char* kDelayKernel = "planted_delay";

/// What it is compiled from for GPUs.
devices::GpuSource delaySource();

/// Methods are called on the role's thread, its device and stream current.
class RoleWork {
 public:
  /// From Fault::install(). Throws Error(kBadInput) when there is no such role, and Error(kEnvironment) where a GPU's
  /// kernel cannot be compiled.
  RoleWork(const FaultSite& site, const std::string& role);

  /// A kernel of one thread that lasts so long.
  void delay(std::chrono::nanoseconds lasts);
  /// A copy within the device, of at most `reserved` bytes.
  void copy(std::size_t bytes);
  /// Room for it, from Fault::install().
  void reserve(std::size_t bytes);

 private:
  devices::Stream stream() const;

  devices::Driver& driver_;
  at::Device device_;
  devices::Function delay_;
  at::Tensor from_, to_;
};

}  // namespace redraft::scenarios
