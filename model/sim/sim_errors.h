#pragma once
// The words of this backend's refusals. Each names the op, the tensors with their devices, who was calling (role, step,
// phase, autograd node) and the remedy. Thrown as c10::Error, which autograd hands from its threads to backward()'s
// caller.

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "devices/status.h"

namespace redraft::model::sim {

/// An argument as a message names it: "sim:6 (self)", "sim:7 (tensors[2])".
struct NamedDevice {
  c10::Device device;
  std::string argument;
};

std::string deviceText(const c10::Device& device);  // "sim:6", "cpu"

/// Two devices in one op. The text holds CUDA's own "Expected all tensors to be on the same device".
[[noreturn]] void throwMixedDevices(const std::string& op, const NamedDevice& first, const NamedDevice& second);
/// Strictness::kAllOps: the tensors are not on the current device.
[[noreturn]] void throwNotCurrent(const std::string& op, const NamedDevice& tensor, int currentDevice);
/// What this backend has not got: sparse results, pinned device memory.
[[noreturn]] void throwUnsupported(const std::string& op, const std::string& what, const std::string& remedy);
/// A refused copy, as DeviceError; a copy over an edge that the topology does not allow says so.
[[noreturn]] void throwCopyRefused(devices::Status status, const c10::Device& from, const c10::Device& to,
                                   std::int64_t bytes);

}  // namespace redraft::model::sim
