#include "harness/probe/cupti_calls.h"

#include <algorithm>
#include <array>

#include "base/characters.h"

namespace redraft::harness {
namespace {

// Beginnings of names. A4, A8: copies, events; A6: contexts; A7, A9: memory; A11: code; A14: launches.
constexpr std::array<std::string_view, 34> kBeginnings = {"cudaLaunchKernel",
                                                          "cuLaunchKernel",
                                                          "cudaLaunchCooperativeKernel",
                                                          "cuLaunchCooperative",
                                                          "cudaGraphLaunch",
                                                          "cuGraphLaunch",
                                                          "cudaMemcpy",
                                                          "cuMemcpy",
                                                          "cudaMemset",
                                                          "cuMemset",
                                                          "cudaMemPrefetch",
                                                          "cuMemPrefetch",
                                                          "cudaMalloc",
                                                          "cudaFree",
                                                          "cuMemAlloc",
                                                          "cuMemFree",
                                                          "cudaStreamSynchronize",
                                                          "cuStreamSynchronize",
                                                          "cudaDeviceSynchronize",
                                                          "cuCtxSynchronize",
                                                          "cudaEventSynchronize",
                                                          "cuEventSynchronize",
                                                          "cudaEventRecord",
                                                          "cuEventRecord",
                                                          "cudaStreamWaitEvent",
                                                          "cuStreamWaitEvent",
                                                          "cudaStreamCreate",
                                                          "cuStreamCreate",
                                                          "cuGreenCtx",
                                                          "cuCtxCreate",
                                                          "cuModuleLoad",
                                                          "cuLibraryLoad",
                                                          "cudaDeviceEnablePeerAccess",
                                                          "cuCtxEnablePeerAccess"};
constexpr std::array<std::string_view, 4> kWhole = {"cudaSetDevice", "cuCtxSetCurrent", "cuDevicePrimaryCtxRetain",
                                                    "cuModuleGetFunction"};
constexpr std::array<std::string_view, 5> kCode = {"cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx",
                                                   "cuModuleLoadFatBinary", "cuModuleGetFunction"};

/// Length of `name` without "_v123" at its end; the whole length where there is none.
std::size_t withoutVersion(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && isDigit(name[end - 1])) --end;
  const bool versioned = end < name.size() && end >= 2 && name.substr(end - 2, 2) == "_v";
  return versioned ? end - 2 : name.size();
}

}  // namespace

std::string plainCallName(std::string_view name) {
  for (std::size_t before = 0; before != name.size();) {
    before = name.size();
    if (name.ends_with("_ptsz") || name.ends_with("_ptds")) name.remove_suffix(5);
    name = name.substr(0, withoutVersion(name));
  }
  return std::string(name);
}

bool isCapturedCall(std::string_view plainName) {
  return std::find(kWhole.begin(), kWhole.end(), plainName) != kWhole.end() ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [plainName](std::string_view beginning) { return plainName.starts_with(beginning); });
}

bool isCodeCall(std::string_view plainName) { return std::find(kCode.begin(), kCode.end(), plainName) != kCode.end(); }

}  // namespace redraft::harness
