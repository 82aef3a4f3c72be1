#pragma once
// CUPTI's entry points, looked up at run time: nothing of CUDA is linked, and tests put a CUPTI of their own here.

#include <cupti.h>

#include <string>

#include "harness/probe/device_capture.h"

namespace redraft::harness {

// clang-format off
#define REDRAFT_CUPTI_CALLS(X) \
  X(cuptiGetVersion) X(cuptiGetResultString) X(cuptiSubscribe_v2) X(cuptiUnsubscribe) X(cuptiEnableCallback) \
  X(cuptiGetCallbackName) X(cuptiSetThreadIdType) X(cuptiActivityRegisterTimestampCallback) \
  X(cuptiActivitySetAttribute) X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable) X(cuptiActivityEnableAndDump) \
  X(cuptiActivityDisable) X(cuptiActivityEnableRuntimeApi) X(cuptiActivityEnableDriverApi) \
  X(cuptiActivityEnableAllSyncRecords) X(cuptiActivityFlushAll) X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiGetContextId) X(cuptiGetDeviceId) X(cuptiGetStreamIdEx)
// Of the driver: to wait for all devices when a capture ends, for its canaries, and for the context of a stream. Names as cuda.h maps them to
// versioned symbols.
#define REDRAFT_CUPTI_DRIVER_CALLS(X) \
  X(cuInit) X(cuDeviceGetCount) X(cuDeviceCanAccessPeer) X(cuCtxCreate) X(cuCtxDestroy) X(cuCtxPushCurrent) \
  X(cuCtxPopCurrent) X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuCtxEnablePeerAccess) X(cuMemAlloc) X(cuMemcpyHtoD) \
  X(cuMemcpyPeer) X(cuStreamGetCtx) X(cuDevicePrimaryCtxRetain)
// clang-format on

struct CuptiApi {
#define REDRAFT_CUPTI_MEMBER(name) \
  decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a declaration
  REDRAFT_CUPTI_CALLS(REDRAFT_CUPTI_MEMBER)
  REDRAFT_CUPTI_DRIVER_CALLS(REDRAFT_CUPTI_MEMBER)
#undef REDRAFT_CUPTI_MEMBER

  /// The libcupti.so.13 that this process has (LibTorch brings one), the loader's, or a toolkit's. False with the
  /// reason when there is none, or it is of another version than these headers: record layouts change with it.
  bool loadCupti(CaptureRefusal& refusal);
  /// False with the reason when there is no driver.
  bool loadDriver(CaptureRefusal& refusal);

  std::string resultText(CUptiResult result) const;  // "CUPTI_ERROR_UNKNOWN (999)"
};

}  // namespace redraft::harness
