// Start, contexts, code, streams and events. Launches, copies and memory: cuda_work.cc.
#include "devices/cuda/cuda_driver.h"

namespace redraft::devices {

bool CudaDriver::start(std::string& error) {
  if (!api_.load(error)) return false;
  int count = 0;
  const CUresult counted = api_.cuDeviceGetCount(&count);
  if (counted != CUDA_SUCCESS || count == 0) {
    error = counted == CUDA_SUCCESS ? "the driver finds no device"
                                    : "cuDeviceGetCount failed with " + std::to_string(counted);
    return false;
  }
  memory_.resize(static_cast<std::size_t>(count));
  log_ = host_.makeLog(options_.logCapacity);
  return true;
}

LogRecord CudaDriver::startRecord(CallKind kind, Status status) {
  LogRecord record = host_.newRecord(kind);
  record.status = status;
  record.context = currentId();
  record.device = deviceOf(record.context);
  const char* text = nullptr;
  if (status != Status::kSuccess && api_.cuGetErrorString(static_cast<CUresult>(status), &text) == CUDA_SUCCESS) {
    record.detail = text;
  }
  return record;
}

void CudaDriver::fillOwner(LogRecord& record, std::uint64_t object, std::uint64_t context) const {
  record.object = object;
  record.objectContext = context;
  record.objectDevice = deviceOf(context);
}

std::uint64_t CudaDriver::addContext(ContextEntry entry) {
  const std::uint64_t id = nextId();
  contexts_.add(id, entry);
  contextIds_[entry.handle] = id;
  return id;
}

std::uint64_t CudaDriver::currentId() {
  CUcontext handle = nullptr;
  if (api_.cuCtxGetCurrent(&handle) != CUDA_SUCCESS || handle == nullptr) return 0;
  return contextOf(handle);
}

std::uint64_t CudaDriver::contextOf(CUcontext handle) {
  {
    const std::lock_guard lock(contextMutex_);
    const auto found = contextIds_.find(handle);
    if (found != contextIds_.end()) return found->second;
  }
  int device = -1;
  Context primary;
  if (!isActivePrimary(handle, &device) || primaryContext(device, &primary) != Status::kSuccess) return 0;
  const auto entry = contexts_.find(primary.id);
  return entry && entry->handle == handle ? primary.id : 0;
}

/// Whether `handle` may be the primary context of `device`: that there is one, so that asking for it makes none.
bool CudaDriver::isActivePrimary(CUcontext handle, int* device) const {
  unsigned flags = 0;
  int active = 0;
  return api_.cuCtxGetDevice_v2(device, handle) == CUDA_SUCCESS && validDevice(*device) &&
         api_.cuDevicePrimaryCtxGetState(*device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

int CudaDriver::deviceOf(std::uint64_t context) const {
  const auto entry = context != 0 ? contexts_.find(context) : std::nullopt;
  return entry ? entry->device : -1;
}

Status CudaDriver::architecture(int device, int* version) {
  *version = 0;
  if (!validDevice(device)) return finish(CallKind::kQuery, CUDA_ERROR_INVALID_DEVICE);
  int major = 0, minor = 0;
  CUresult result = api_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (result == CUDA_SUCCESS) {
    result = api_.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  }
  if (result == CUDA_SUCCESS) *version = 10 * major + minor;
  return finish(CallKind::kQuery, result);
}

Status CudaDriver::primaryContext(int device, Context* context) {
  *context = {};
  if (!validDevice(device)) return finish(CallKind::kContext, CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(contextMutex_);
  const auto known = primaries_.find(device);
  if (known != primaries_.end()) {
    *context = {known->second};
    return Status::kSuccess;
  }
  CUcontext handle = nullptr;
  const CUresult result = api_.cuDevicePrimaryCtxRetain(&handle, device);
  if (result != CUDA_SUCCESS) return static_cast<Status>(result);
  *context = {addContext({handle, device, true})};
  primaries_[device] = context->id;
  return Status::kSuccess;
}

Status CudaDriver::createContext(int device, Context* context) {
  *context = {};
  if (!validDevice(device)) return finish(CallKind::kContext, CUDA_ERROR_INVALID_DEVICE);
  CUcontext handle = nullptr, popped = nullptr;
  const CUresult result = api_.cuCtxCreate(&handle, nullptr, 0, device);
  if (result == CUDA_SUCCESS) {
    const std::lock_guard lock(contextMutex_);
    *context = {addContext({handle, device, false})};
  }
  // cuCtxCreate pushes the new context on the thread's stack; our interface leaves what was current.
  const CUresult restored = result == CUDA_SUCCESS ? api_.cuCtxPopCurrent(&popped) : result;
  return finish(CallKind::kContext, restored, [&](LogRecord& record) { fillOwner(record, context->id, context->id); });
}

Status CudaDriver::destroyContext(Context context) {
  const auto entry = contexts_.find(context.id);
  if (!entry || entry->primary) return finish(CallKind::kContext, CUDA_ERROR_INVALID_CONTEXT);
  const CUresult result = api_.cuCtxDestroy(entry->handle);
  if (result == CUDA_SUCCESS) {
    const std::lock_guard lock(contextMutex_);
    contextIds_.erase(entry->handle);
    contexts_.take(context.id);
  }
  return finish(CallKind::kContext, result);
}

Status CudaDriver::setCurrent(Context context) {
  const auto entry = context ? contexts_.find(context.id) : std::optional<ContextEntry>(ContextEntry{});
  if (!entry) return finish(CallKind::kSetCurrent, CUDA_ERROR_INVALID_CONTEXT);
  return finish(CallKind::kSetCurrent, api_.cuCtxSetCurrent(entry->handle));
}

Status CudaDriver::current(Context* context) {
  CUcontext handle = nullptr;
  const CUresult result = api_.cuCtxGetCurrent(&handle);
  *context = {result == CUDA_SUCCESS ? currentId() : 0};
  return static_cast<Status>(result);
}

Status CudaDriver::contextDevice(Context context, int* device) {
  const auto entry = contexts_.find(context.id);
  *device = entry ? entry->device : -1;
  return entry ? Status::kSuccess : finish(CallKind::kQuery, CUDA_ERROR_INVALID_CONTEXT);
}

Status CudaDriver::loadModule(const Image& image, Module* module) {
  *module = {};
  CUmodule handle = nullptr;
  const CUresult result =
      image.cubin.empty() ? CUDA_ERROR_INVALID_IMAGE : api_.cuModuleLoadData(&handle, image.cubin.data());
  if (result == CUDA_SUCCESS) {
    *module = {nextId()};
    modules_.add(module->id, {handle, currentId(), image.name});
  }
  return finish(CallKind::kModuleLoad, result, [&](LogRecord& record) {
    record.name = image.name;
    fillOwner(record, module->id, record.context);
  });
}

Status CudaDriver::unloadModule(Module module) {
  const auto entry = modules_.take(module.id);
  return finish(CallKind::kModuleUnload, entry ? api_.cuModuleUnload(entry->handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::moduleFunction(Module module, const std::string& name, Function* function) {
  *function = {};
  const auto entry = modules_.find(module.id);
  CUfunction handle = nullptr;
  const CUresult result =
      entry ? api_.cuModuleGetFunction(&handle, entry->handle, name.c_str()) : CUDA_ERROR_INVALID_HANDLE;
  if (result == CUDA_SUCCESS) {
    *function = {nextId()};
    functions_.add(function->id, {handle, entry->context, name});
  }
  return finish(CallKind::kFunction, result, [&](LogRecord& record) {
    record.name = name;
    if (entry) fillOwner(record, function->id, entry->context);
  });
}

Status CudaDriver::loadLibrary(const Image& image, Library* library) {
  *library = {};
  CUlibrary handle = nullptr;
  const CUresult result = image.cubin.empty() ? CUDA_ERROR_INVALID_IMAGE
                                              : api_.cuLibraryLoadData(&handle, image.cubin.data(), nullptr, nullptr, 0,
                                                                       nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS) {
    *library = {nextId()};
    libraries_.add(library->id, {handle, 0, image.name});
  }
  return finish(CallKind::kLibraryLoad, result, [&](LogRecord& record) {
    record.name = image.name;
    record.object = library->id;
  });
}

Status CudaDriver::unloadLibrary(Library library) {
  const auto entry = libraries_.take(library.id);
  return finish(CallKind::kLibraryUnload, entry ? api_.cuLibraryUnload(entry->handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::libraryFunction(Library library, const std::string& name, Function* function) {
  *function = {};
  const auto entry = libraries_.find(library.id);
  CUkernel kernel = nullptr;
  const CUresult result =
      entry ? api_.cuLibraryGetKernel(&kernel, entry->handle, name.c_str()) : CUDA_ERROR_INVALID_HANDLE;
  if (result == CUDA_SUCCESS) {
    *function = {nextId()};
    // cuLaunchKernel takes a CUkernel in place of a CUfunction and resolves it for the stream's context.
    functions_.add(function->id, {reinterpret_cast<CUfunction>(kernel), 0, name});
  }
  return finish(CallKind::kFunction, result, [&](LogRecord& record) {
    record.name = name;
    record.object = function->id;
  });
}

std::optional<CUstream> CudaDriver::streamOf(Stream stream) const {
  if (!stream) return CUstream{nullptr};
  const auto entry = streams_.find(stream.id);
  return entry ? std::optional<CUstream>(entry->handle) : std::nullopt;
}

Status CudaDriver::createStream(Stream* stream) {
  *stream = {};
  CUstream handle = nullptr;
  const CUresult result = api_.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING);
  if (result == CUDA_SUCCESS) {
    *stream = {nextId()};
    streams_.add(stream->id, {handle, currentId(), ""});
  }
  return finish(CallKind::kStreamCreate, result,
                [&](LogRecord& record) { fillOwner(record, stream->id, record.context); });
}

/// CUDA's own id tells a stream from a later one at the same address.
Status CudaDriver::adoptStream(void* native, Stream* stream) {
  *stream = {};
  if (native == nullptr) return Status::kSuccess;
  auto* const handle = static_cast<CUstream>(native);
  unsigned long long unique = 0;
  CUcontext owner = nullptr;
  CUresult result = api_.cuStreamGetId(handle, &unique);
  if (result == CUDA_SUCCESS) {
    const std::lock_guard lock(adoptedMutex_);
    const auto known = adopted_.find(unique);
    if (known != adopted_.end()) {
      *stream = {known->second};
      return Status::kSuccess;
    }
    result = api_.cuStreamGetCtx(handle, &owner);
    if (result == CUDA_SUCCESS) {
      *stream = {nextId()};
      streams_.add(stream->id, {handle, contextOf(owner), "", true});
      adopted_.emplace(unique, stream->id);
    }
  }
  return finish(CallKind::kStreamCreate, result, [&](LogRecord& record) {
    const auto entry = streams_.find(stream->id);
    fillOwner(record, stream->id, entry ? entry->context : 0);
    if (entry) record.detail = "made by somebody else";
  });
}

Status CudaDriver::destroyStream(Stream stream) {
  const auto known = streams_.find(stream.id);
  if (known && known->adopted) return finish(CallKind::kStreamDestroy, CUDA_ERROR_INVALID_HANDLE);
  const auto entry = streams_.take(stream.id);
  return finish(CallKind::kStreamDestroy, entry ? api_.cuStreamDestroy(entry->handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::synchronizeStream(Stream stream) {
  const auto handle = streamOf(stream);
  return finish(CallKind::kSynchronize, handle ? api_.cuStreamSynchronize(*handle) : CUDA_ERROR_INVALID_HANDLE,
                [&](LogRecord& record) { record.stream = stream.id; });
}

Status CudaDriver::queryStream(Stream stream) {
  const auto handle = streamOf(stream);
  return finish(CallKind::kQuery, handle ? api_.cuStreamQuery(*handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::waitEvent(Stream stream, Event event) {
  const auto handle = streamOf(stream);
  const auto entry = events_.find(event.id);
  const bool known = handle && entry;
  return finish(
      CallKind::kEventWait,
      known ? api_.cuStreamWaitEvent(*handle, entry->handle, CU_EVENT_WAIT_DEFAULT) : CUDA_ERROR_INVALID_HANDLE,
      [&](LogRecord& record) {
        record.stream = stream.id;
        if (entry) fillOwner(record, event.id, entry->context);
      });
}

Status CudaDriver::createEvent(Event* event) {
  *event = {};
  CUevent handle = nullptr;
  const CUresult result = api_.cuEventCreate(&handle, CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS) {
    *event = {nextId()};
    events_.add(event->id, {handle, currentId(), ""});
  }
  return finish(CallKind::kEventCreate, result);
}

Status CudaDriver::destroyEvent(Event event) {
  const auto entry = events_.take(event.id);
  return finish(CallKind::kEventDestroy, entry ? api_.cuEventDestroy(entry->handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::recordEvent(Event event, Stream stream) {
  const auto handle = streamOf(stream);
  const auto entry = events_.find(event.id);
  const bool known = handle && entry;
  return finish(CallKind::kEventRecord, known ? api_.cuEventRecord(entry->handle, *handle) : CUDA_ERROR_INVALID_HANDLE,
                [&](LogRecord& record) {
                  record.stream = stream.id;
                  if (entry) fillOwner(record, event.id, entry->context);
                });
}

Status CudaDriver::queryEvent(Event event) {
  const auto entry = events_.find(event.id);
  return finish(CallKind::kQuery, entry ? api_.cuEventQuery(entry->handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::synchronizeEvent(Event event) {
  const auto entry = events_.find(event.id);
  return finish(CallKind::kSynchronize, entry ? api_.cuEventSynchronize(entry->handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::elapsedMillis(Event start, Event end, float* millis) {
  *millis = 0;
  const auto from = events_.find(start.id), to = events_.find(end.id);
  return finish(CallKind::kElapsed,
                from && to ? api_.cuEventElapsedTime(millis, from->handle, to->handle) : CUDA_ERROR_INVALID_HANDLE);
}

Status CudaDriver::synchronizeContext() { return finish(CallKind::kSynchronize, api_.cuCtxSynchronize()); }

}  // namespace redraft::devices
