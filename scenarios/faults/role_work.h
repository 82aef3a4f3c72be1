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
  /// Throws Error(kBadInput) when there is no such role.
  RoleWork(const FaultSite& site, const std::string& role);

  // From Fault::install(): what delay() and copy() need. The first throws Error(kEnvironment) where a GPU's kernel
  // cannot be compiled.
  void prepareDelay();
  void prepareCopy(std::size_t bytes);

  /// A kernel of one thread that lasts so long.
  void delay(std::chrono::nanoseconds lasts);
  /// A copy of as many bytes as were prepared, within the device.
  void copy();

 private:
  devices::Stream stream() const;

  devices::Driver& driver_;
  at::Device device_;
  devices::Function delay_;
  at::Tensor from_, to_;
};

}  // namespace redraft::scenarios
