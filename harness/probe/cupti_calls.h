#pragma once
// Which calls of the runtime and driver API a capture records, by name: CUPTI's own list of names is gone through, so
// that a new version of a call is not missed.

#include <string>
#include <string_view>

namespace redraft::harness {

/// "cudaLaunchKernel" of "cudaLaunchKernel_v7000", "cuMemcpyAsync" of "cuMemcpyAsync_ptsz".
std::string plainCallName(std::string_view name);

/// True for what the audit needs (docs/audit.md, "Capture"): calls that issue device work, wait, allocate, make
/// contexts and streams, choose a device, load code. Queries and getters, of which there are some tens a launch, are
/// not.
bool isCapturedCall(std::string_view plainName);

/// True for calls whose arguments are looked at when they return: which module a function belongs to.
bool isCodeCall(std::string_view plainName);

}  // namespace redraft::harness
