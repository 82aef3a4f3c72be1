#include "tests/harness/probe/fake_cupti.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "tests/harness/probe/activities.h"

namespace redraft::testing_support {
namespace {

FakeCupti* fake = nullptr;

constexpr std::uint32_t kLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
constexpr std::uint32_t kRecord = CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020;
constexpr std::uint32_t kWait = CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020;
constexpr std::uint32_t kDriverLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;

const std::map<std::pair<int, std::uint32_t>, const char*>& callNames() {
  static const std::map<std::pair<int, std::uint32_t>, const char*> names = {
      {{CUPTI_CB_DOMAIN_RUNTIME_API, kLaunch}, "cudaLaunchKernel_v7000"},
      {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020}, "cudaGetDevice_v3020"},
      {{CUPTI_CB_DOMAIN_RUNTIME_API, kRecord}, "cudaEventRecord_v3020"},
      {{CUPTI_CB_DOMAIN_RUNTIME_API, kWait}, "cudaStreamWaitEvent_v3020"},
      {{CUPTI_CB_DOMAIN_DRIVER_API, kDriverLaunch}, "cuLaunchKernel"},
      {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData}, "cuModuleLoadData"},
      {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction}, "cuModuleGetFunction"},
      {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamCreate}, "cuStreamCreate"},
      {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2}, "cuMemcpyHtoD_v2"},
      {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeer}, "cuMemcpyPeer"}};
  return names;
}

}  // namespace

CUcontext contextHandle(std::uint32_t id) { return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(id) << 8); }

CUstream streamHandle(std::uint32_t context, std::uint32_t stream) {
  return reinterpret_cast<CUstream>(static_cast<std::uintptr_t>(context) << 16 | static_cast<std::uintptr_t>(stream));
}

/// The entry points.
struct FakeCupti::Entries {
  static CUptiResult answer(const char* entry) {
    const auto refused = fake->refuse.find(entry);
    return refused == fake->refuse.end() ? CUPTI_SUCCESS : refused->second;
  }
  static std::uint32_t idOf(CUcontext context) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(context) >> 8);
  }

  static CUptiResult version(std::uint32_t* version) {
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
  }
  static CUptiResult resultString(CUptiResult result, const char** text) {
    *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                                                     : "CUPTI_ERROR_OTHER";
    return CUPTI_SUCCESS;
  }
  static CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata,
                               CUpti_SubscriberParams* params) {
    const CUptiResult result = answer("cuptiSubscribe_v2");
    if (result != CUPTI_SUCCESS) {
      std::strncpy(params->oldSubscriberName, "CUPTI for nsys", params->oldSubscriberSize - 1);
      return result;
    }
    *handle = reinterpret_cast<CUpti_SubscriberHandle>(fake);
    fake->callback_ = callback;
    fake->userdata_ = userdata;
    fake->subscribed_ = true;
    return CUPTI_SUCCESS;
  }
  static CUptiResult unsubscribe(CUpti_SubscriberHandle) {
    const std::lock_guard lock(fake->mutex_);
    fake->subscribed_ = false;
    return answer("cuptiUnsubscribe");
  }
  static CUptiResult enableCallback(std::uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                    CUpti_CallbackId id) {
    const std::lock_guard lock(fake->mutex_);
    if (on != 0) {
      fake->callbacks_.insert({domain, id});
    } else {
      fake->callbacks_.erase({domain, id});
    }
    return answer("cuptiEnableCallback");
  }
  static CUptiResult callbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
    const auto known = callNames().find({domain, id});
    if (known == callNames().end()) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = known->second;
    return CUPTI_SUCCESS;
  }
  static CUptiResult threadIdType(CUpti_ActivityThreadIdType) { return answer("cuptiSetThreadIdType"); }
  static CUptiResult timestampCallback(CUpti_TimestampCallbackFunc clock) {
    fake->clock_ = clock;
    return CUPTI_SUCCESS;
  }
  static CUptiResult setAttribute(CUpti_ActivityAttribute, std::size_t*, void*) { return CUPTI_SUCCESS; }
  static CUptiResult registerCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                       CUpti_BuffersCallbackCompleteFunc complete) {
    fake->request_ = request;
    fake->complete_ = complete;
    return CUPTI_SUCCESS;
  }
  static CUptiResult enableKind(CUpti_ActivityKind kind) {
    const std::lock_guard lock(fake->mutex_);
    fake->kinds_.insert(kind);
    return answer("cuptiActivityEnable");
  }
  static CUptiResult disableKind(CUpti_ActivityKind kind) {
    const std::lock_guard lock(fake->mutex_);
    fake->kinds_.erase(kind);
    return answer("cuptiActivityDisable");
  }
  template <int kDomain>
  static CUptiResult enableCall(CUpti_CallbackId id, std::uint8_t on) {
    const auto refused = fake->refuseCall.find(id);
    if (refused != fake->refuseCall.end()) return refused->second;
    const std::lock_guard lock(fake->mutex_);
    if (on != 0) {
      fake->calls_.insert({kDomain, id});
    } else {
      fake->calls_.erase({kDomain, id});
    }
    return CUPTI_SUCCESS;
  }
  static CUptiResult allSyncRecords(std::uint8_t) { return CUPTI_SUCCESS; }
  static CUptiResult flushAll(std::uint32_t flag) {
    ++(flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED ? fake->forcedFlushes_ : fake->plainFlushes_);
    fake->flush();
    return answer("cuptiActivityFlushAll");
  }
  static CUptiResult droppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
    const std::lock_guard lock(fake->mutex_);
    *dropped = std::exchange(fake->dropped, 0);
    return answer("cuptiActivityGetNumDroppedRecords");
  }
  static CUptiResult contextId(CUcontext context, std::uint32_t* id) {
    *id = idOf(context);
    return answer("cuptiGetContextId");
  }
  static CUptiResult streamId(CUcontext, CUstream stream, std::uint8_t, std::uint32_t* id) {
    *id = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream) & 0xffff);
    return answer("cuptiGetStreamIdEx");
  }
  static CUptiResult deviceId(CUcontext context, std::uint32_t* id) {
    *id = idOf(context) % 2;
    return CUPTI_SUCCESS;
  }

  static CUresult init(unsigned) { return CUDA_SUCCESS; }
  static CUresult deviceCount(int* count) {
    *count = fake->devices;
    return CUDA_SUCCESS;
  }
  static CUresult canAccessPeer(int* can, CUdevice, CUdevice) {
    *can = 1;
    return CUDA_SUCCESS;
  }
  static CUresult createContext(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
    const std::uint32_t id = fake->nextContext_ += 2;  // even ids: device 0
    *context = contextHandle(id + static_cast<std::uint32_t>(device));
    fake->makeContext(id + static_cast<std::uint32_t>(device), static_cast<std::uint32_t>(device));
    return CUDA_SUCCESS;
  }
  static CUresult destroyContext(CUcontext context) {
    fake->resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, idOf(context), nullptr);
    return CUDA_SUCCESS;
  }
  static CUresult streamContext(CUstream stream, CUcontext* context) {
    *context = contextHandle(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream) >> 16));
    return CUDA_SUCCESS;
  }
  /// Contexts 1 and 2 are the primary ones of devices 0 and 1.
  static CUresult retainPrimary(CUcontext* context, CUdevice device) {
    *context = contextHandle(static_cast<std::uint32_t>(device) + 1);
    return CUDA_SUCCESS;
  }
  static CUresult pushCurrent(CUcontext) { return CUDA_SUCCESS; }
  static CUresult popCurrent(CUcontext*) { return CUDA_SUCCESS; }
  static CUresult setCurrent(CUcontext) { return CUDA_SUCCESS; }
  static CUresult synchronize() {
    ++fake->synchronized_;
    return fake->synchronizeResult;
  }
  static CUresult enablePeer(CUcontext, unsigned) { return CUDA_SUCCESS; }
  static CUresult allocate(CUdeviceptr* pointer, std::size_t) {
    *pointer = 4096;
    return CUDA_SUCCESS;
  }
  static CUresult copyIn(CUdeviceptr, const void*, std::size_t) {
    const std::uint32_t context = fake->nextContext_ + (fake->synchronized_ > 0 ? 1 : 0);
    const Call call{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, context, nullptr};
    const std::uint32_t correlation = fake->nextCorrelation();
    const std::uint64_t start = fake->now();
    fake->emitCall(call, correlation, start, start + 100);
    CUpti_ActivityMemcpy6 copy = copyActivity(correlation, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                              CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    copy.start = start + 10;
    copy.end = start + 20;
    copy.contextId = context;
    fake->emit(copy);
    return CUDA_SUCCESS;
  }
  static CUresult copyAcross(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext from, std::size_t) {
    const Call call{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeer, idOf(from), nullptr};
    const std::uint32_t correlation = fake->nextCorrelation();
    const std::uint64_t start = fake->now();
    fake->emitCall(call, correlation, start, start + 100);
    CUpti_ActivityMemcpyPtoP4 copy = peerCopyActivity(correlation, 0, 1);
    copy.start = start + 10;
    copy.end = start + 20;
    copy.contextId = idOf(from);
    fake->emit(copy);
    return CUDA_SUCCESS;
  }
};

FakeCupti::FakeCupti() {
  REDRAFT_CHECK(fake == nullptr, "one fake at a time");
  fake = this;
}

FakeCupti::~FakeCupti() { fake = nullptr; }

harness::CuptiApi FakeCupti::api() const {
  harness::CuptiApi api;
  api.cuptiGetVersion = &Entries::version;
  api.cuptiGetResultString = &Entries::resultString;
  api.cuptiSubscribe_v2 = &Entries::subscribe;
  api.cuptiUnsubscribe = &Entries::unsubscribe;
  api.cuptiEnableCallback = &Entries::enableCallback;
  api.cuptiGetCallbackName = &Entries::callbackName;
  api.cuptiSetThreadIdType = &Entries::threadIdType;
  api.cuptiActivityRegisterTimestampCallback = &Entries::timestampCallback;
  api.cuptiActivitySetAttribute = &Entries::setAttribute;
  api.cuptiActivityRegisterCallbacks = &Entries::registerCallbacks;
  api.cuptiActivityEnable = &Entries::enableKind;
  api.cuptiActivityEnableAndDump = &Entries::enableKind;
  api.cuptiActivityDisable = &Entries::disableKind;
  api.cuptiActivityEnableRuntimeApi = &Entries::enableCall<CUPTI_CB_DOMAIN_RUNTIME_API>;
  api.cuptiActivityEnableDriverApi = &Entries::enableCall<CUPTI_CB_DOMAIN_DRIVER_API>;
  api.cuptiActivityEnableAllSyncRecords = &Entries::allSyncRecords;
  api.cuptiActivityFlushAll = &Entries::flushAll;
  api.cuptiActivityGetNumDroppedRecords = &Entries::droppedRecords;
  api.cuptiGetContextId = &Entries::contextId;
  api.cuptiGetDeviceId = &Entries::deviceId;
  api.cuptiGetStreamIdEx = &Entries::streamId;
  api.cuStreamGetCtx = &Entries::streamContext;
  api.cuDevicePrimaryCtxRetain = &Entries::retainPrimary;
  api.cuInit = &Entries::init;
  api.cuDeviceGetCount = &Entries::deviceCount;
  api.cuDeviceCanAccessPeer = &Entries::canAccessPeer;
  api.cuCtxCreate = &Entries::createContext;
  api.cuCtxDestroy = &Entries::destroyContext;
  api.cuCtxPushCurrent = &Entries::pushCurrent;
  api.cuCtxPopCurrent = &Entries::popCurrent;
  api.cuCtxSetCurrent = &Entries::setCurrent;
  api.cuCtxSynchronize = &Entries::synchronize;
  api.cuCtxEnablePeerAccess = &Entries::enablePeer;
  api.cuMemAlloc = &Entries::allocate;
  api.cuMemcpyHtoD = &Entries::copyIn;
  api.cuMemcpyPeer = &Entries::copyAcross;
  return api;
}

std::uint64_t FakeCupti::now() const { return clock_(); }

std::uint32_t FakeCupti::nextCorrelation() {
  const std::lock_guard lock(mutex_);
  return ++correlation_;
}

bool FakeCupti::wants(CUpti_CallbackDomain domain, std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return callbacks_.contains({domain, id});
}

bool FakeCupti::isEnabled(CUpti_ActivityKind kind) const {
  const std::lock_guard lock(mutex_);
  return kinds_.contains(kind);
}

void FakeCupti::callback(const Call& call, CUpti_ApiCallbackSite site, std::uint32_t correlation) {
  if (!wants(call.domain, call.id)) return;
  CUresult result = CUDA_SUCCESS;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionParams = call.params;
  data.functionReturnValue = &result;
  data.contextUid = call.context;
  data.correlationId = correlation;
  callback_(userdata_, call.domain, call.id, &data);
}

void FakeCupti::resource(CUpti_CallbackIdResource id, std::uint32_t context, void* descriptor) {
  if (!wants(CUPTI_CB_DOMAIN_RESOURCE, id)) return;
  CUpti_ResourceData data{};
  data.context = contextHandle(context);
  data.resourceDescriptor = descriptor;
  callback_(userdata_, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void FakeCupti::emitCall(const Call& call, std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
  const auto kind =
      call.domain == CUPTI_CB_DOMAIN_DRIVER_API ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  {
    const std::lock_guard lock(mutex_);
    if (!kinds_.contains(kind) || !calls_.contains({call.domain, call.id})) return;
  }
  CUpti_ActivityAPI record = callActivity(kind, call.id, correlation, static_cast<std::uint32_t>(::gettid()), start);
  record.end = end;
  emit(&record, sizeof record);
}

std::uint32_t FakeCupti::make(const Call& call, const std::function<void(std::uint32_t)>& effect) {
  const std::uint32_t correlation = nextCorrelation();
  const std::uint64_t start = now();
  callback(call, CUPTI_API_ENTER, correlation);
  effect(correlation);
  callback(call, CUPTI_API_EXIT, correlation);
  emitCall(call, correlation, start, now());
  return correlation;
}

std::uint32_t FakeCupti::launch(const char* kernel, std::uint32_t context, std::uint32_t device, std::uint32_t stream) {
  return make({CUPTI_CB_DOMAIN_RUNTIME_API, kLaunch, context, nullptr}, [&](std::uint32_t correlation) {
    CUpti_ActivityKernel10 record = kernelActivity(correlation, kernel, now());
    record.contextId = context;
    record.deviceId = device;
    record.streamId = stream;
    emit(record);
  });
}

void FakeCupti::recordEvent(std::uint32_t context, std::uint32_t stream, std::uint64_t recording) {
  make({CUPTI_CB_DOMAIN_RUNTIME_API, kRecord, context, nullptr}, [&](std::uint32_t correlation) {
    CUpti_ActivityCudaEvent2 event = eventActivity(correlation, recording);
    event.contextId = context;
    event.streamId = stream;
    emit(event);
  });
}

void FakeCupti::waitEvent(std::uint32_t context, std::uint32_t stream, std::uint64_t recording) {
  make({CUPTI_CB_DOMAIN_RUNTIME_API, kWait, context, nullptr}, [&](std::uint32_t correlation) {
    CUpti_ActivitySynchronization2 wait =
        waitActivity(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, correlation, recording);
    wait.start = now();
    wait.end = wait.start + 1;
    wait.contextId = context;
    wait.streamId = stream;
    emit(wait);
  });
}

std::uint32_t FakeCupti::launchNested(const char* kernel) {
  const Call outer{CUPTI_CB_DOMAIN_RUNTIME_API, kLaunch, 1, nullptr};
  const Call inner{CUPTI_CB_DOMAIN_DRIVER_API, kDriverLaunch, 1, nullptr};
  const std::uint32_t correlation = nextCorrelation(), within = nextCorrelation();
  const std::uint64_t start = now();
  callback(outer, CUPTI_API_ENTER, correlation);
  callback(inner, CUPTI_API_ENTER, within);
  const std::uint64_t innerStart = now();
  CUpti_ActivityKernel10 record = kernelActivity(within, kernel, now());
  emit(record);
  emitCall(inner, within, innerStart, now());
  callback(inner, CUPTI_API_EXIT, within);
  callback(outer, CUPTI_API_EXIT, correlation);
  emitCall(outer, correlation, start, now());
  return correlation;
}

void FakeCupti::loadModule(CUmodule module, std::uint32_t context) {
  cuModuleLoadData_params params{&module, nullptr};
  make({CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, context, &params}, [&](std::uint32_t) {
    CUpti_ModuleResourceData loaded{5, 0, nullptr};
    resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, context, &loaded);
  });
}

void FakeCupti::getFunction(CUmodule module, const char* name) {
  cuModuleGetFunction_params params{nullptr, module, name};
  make({CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction, 1, &params}, [](std::uint32_t) {});
}

void FakeCupti::makeContext(std::uint32_t context, std::uint32_t device) {
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, nullptr);
  emit(contextActivity(context, device));
}

void FakeCupti::makeStream(std::uint32_t context, std::uint32_t stream) {
  make({CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, context, nullptr},
       [&](std::uint32_t correlation) {
         resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, nullptr);
         emit(streamActivity(context, stream, correlation));
       });
}

void FakeCupti::emit(const void* record, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (buffer_ != nullptr && size_ - used_ < size) {
    std::erase(out_, buffer_);
    complete_(nullptr, 0, std::exchange(buffer_, nullptr), size_, used_);
  }
  if (buffer_ == nullptr) {
    std::size_t most = 0;
    request_(&buffer_, &size_, &most);
    used_ = 0;
    if (buffer_ == nullptr) {
      ++dropped;
      return;
    }
    out_.push_back(buffer_);
  }
  std::memcpy(buffer_ + used_, record, size);
  used_ += size;
}

void FakeCupti::flush() {
  const std::lock_guard lock(mutex_);
  if (buffer_ == nullptr) return;
  std::erase(out_, buffer_);
  complete_(nullptr, 0, std::exchange(buffer_, nullptr), size_, used_);
}

std::size_t FakeCupti::buffersOut() const {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

}  // namespace redraft::testing_support
