#pragma once
// The driver API's entry points, looked up in libcuda.so.1 at run time: the library links and loads without a driver.

#include <cuda.h>

#include <string>

namespace redraft::devices {

// Names as cuda.h maps them to versioned symbols (cuMemAlloc is cuMemAlloc_v2, and so on).
// clang-format off
#define REDRAFT_CUDA_CALLS(X) \
  X(cuInit) X(cuDeviceGetCount) X(cuDeviceGetAttribute) X(cuGetErrorString) \
  X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxRetain) X(cuCtxGetDevice_v2) X(cuCtxCreate) X(cuCtxPopCurrent) X(cuCtxDestroy) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuCtxSynchronize) \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel) \
  X(cuStreamCreate) X(cuStreamGetId) X(cuStreamGetCtx) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent) \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime) \
  X(cuLaunchKernel) X(cuFuncSetAttribute) X(cuKernelSetAttribute) X(cuMemAlloc) X(cuMemFree) X(cuMemcpyAsync) X(cuPointerGetAttributes) \
  X(cuDeviceCanAccessPeer) X(cuCtxEnablePeerAccess) X(cuCtxDisablePeerAccess) \
  X(cuDeviceGetDevResource) X(cuDevSmResourceSplitByCount) X(cuDevResourceGenerateDesc) X(cuGreenCtxCreate) X(cuGreenCtxStreamCreate)
// clang-format on

struct CudaApi {
#define REDRAFT_CUDA_MEMBER(name) \
  decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
  REDRAFT_CUDA_CALLS(REDRAFT_CUDA_MEMBER)
#undef REDRAFT_CUDA_MEMBER

  /// False, with the reason, when there is no driver, it lacks an entry, or it finds no device.
  bool load(std::string& error);
};

}  // namespace redraft::devices
