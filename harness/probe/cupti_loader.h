#pragma once
// Opens libredraft_cupti.so.

#include <memory>
#include <string>

#include "harness/probe/device_capture.h"

namespace redraft::harness {

/// Begins to capture what this process's devices do. One capture a process, begun before the first context: contexts
/// that are there already are recorded without the thread that made them. Throws Error(kEnvironment) with the remedy:
/// this build has no CUDA side, CUPTI is missing or of another version, another tool uses it, or there is no driver.
std::unique_ptr<DeviceCapture> startCapture(const CaptureOptions& options);

/// CUPTI's version, for doctor: "13.0 (130001)". Throws as above, but needs no driver.
std::string cuptiVersion();

}  // namespace redraft::harness
