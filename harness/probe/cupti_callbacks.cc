// CuptiCapture on the program's threads: what CUPTI calls back for.
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "harness/probe/active_capture.h"
#include "harness/probe/capture_clock.h"
#include "harness/probe/cupti_capture.h"

namespace redraft::harness {
namespace {

constexpr std::uint32_t kSampleMask = 63;  // the time of every 64th call's callbacks is measured

}  // namespace

void CuptiCapture::onCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  auto& capture = *static_cast<CuptiCapture*>(self);
  if (data == nullptr || capture.stopped_.load(std::memory_order_acquire)) return;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    return capture.resourceCallback(id, *static_cast<const CUpti_ResourceData*>(data));
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if ((call.correlationId & kSampleMask) != 0) return capture.apiCallback(domain, id, call);
  capture.latestCorrelation_.store(call.correlationId, std::memory_order_relaxed);
  const std::int64_t begun = captureClockNs();
  capture.apiCallback(domain, id, call);
  capture.sampledNs_.fetch_add(captureClockNs() - begun, std::memory_order_relaxed);
  capture.sampledCallbacks_.fetch_add(1, std::memory_order_relaxed);
}

void CuptiCapture::apiCallback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (call.callbackSite == CUPTI_API_ENTER) {
    origins_.put(call.correlationId, host_.currentOrigin());
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < isCode_.size() && isCode_[id]) {
    codeReturned(id, call);
  }
}

/// Which context a module was loaded into, and which functions are its. A library's run in every context: not noted.
void CuptiCapture::codeReturned(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  const auto* result = static_cast<const CUresult*>(call.functionReturnValue);
  if (result == nullptr || *result != CUDA_SUCCESS || call.functionParams == nullptr) return;
  const auto context = static_cast<std::int32_t>(call.contextUid);
  if (id != CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction) {
    // The handle is the first argument of every call that loads a module.
    const CUmodule* module = static_cast<const cuModuleLoadData_params*>(call.functionParams)->module;
    if (module != nullptr) resources_.moduleLoaded(*module, context);
    return;
  }
  const auto& of = *static_cast<const cuModuleGetFunction_params*>(call.functionParams);
  ResourceEvent event;
  event.kind = ResourceKind::kFunction;
  event.context = resources_.contextOfModule(of.hmod);
  event.origin = host_.currentOrigin();
  event.object = reinterpret_cast<std::uintptr_t>(of.hmod);
  if (event.context >= 0 && of.name != nullptr) resources_.add(event, captureClockNs(), of.name);
}

std::int32_t CuptiCapture::contextId(CUcontext context) {
  std::uint32_t id = 0;
  if (context == nullptr || api_.cuptiGetContextId(context, &id) != CUPTI_SUCCESS) {
    refusedCallbacks_.fetch_add(1, std::memory_order_relaxed);
    return -1;
  }
  return static_cast<std::int32_t>(id);
}

void CuptiCapture::resourceCallback(CUpti_CallbackId id, const CUpti_ResourceData& data) {
  ResourceEvent event;
  event.origin = host_.currentOrigin();
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED: {
      event.kind = ResourceKind::kContext;
      std::uint32_t device = 0;
      if (api_.cuptiGetDeviceId(data.context, &device) == CUPTI_SUCCESS) {
        event.device = static_cast<std::int32_t>(device);
      } else {
        refusedCallbacks_.fetch_add(1, std::memory_order_relaxed);
      }
      const std::lock_guard lock(contextMutex_);
      contexts_.push_back(data.context);
      break;
    }
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: {
      const std::lock_guard lock(contextMutex_);
      std::erase(contexts_, data.context);
      return;
    }
    case CUPTI_CBID_RESOURCE_STREAM_CREATED:
      event.kind = ResourceKind::kStream;
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED: {
      event.kind = ResourceKind::kModule;
      const auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
      if (module != nullptr) event.object = module->moduleId;
      break;
    }
    default:
      return;
  }
  event.context = contextId(data.context);
  resources_.add(event, captureClockNs());
}

void CuptiCapture::requestBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords) {
  CuptiCapture* const capture = activeCapture().load(std::memory_order_acquire);
  *buffer = capture == nullptr ? nullptr : reinterpret_cast<std::uint8_t*>(capture->pool_.request());
  *size = *buffer == nullptr ? 0 : capture->pool_.bufferBytes();
  *maxRecords = 0;  // as many as fit
}

void CuptiCapture::completeBuffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                                  std::size_t /*size*/, std::size_t valid) {
  CuptiCapture* const capture = activeCapture().load(std::memory_order_acquire);
  if (capture == nullptr || buffer == nullptr) return;
  const bool late = capture->stopped_.load(std::memory_order_acquire);
  if (late && valid > 0) capture->lateBuffers_.fetch_add(1, std::memory_order_relaxed);
  capture->pool_.complete(reinterpret_cast<std::byte*>(buffer), late ? 0 : valid);
  if (!late) capture->work_.notify_one();
}

}  // namespace redraft::harness
