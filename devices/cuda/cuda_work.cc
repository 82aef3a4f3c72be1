// Launches, copies, memory and peer access.
#include <algorithm>

#include "devices/cuda/cuda_driver.h"

namespace redraft::devices {
namespace {

/// What every function may use without asking (CUDA Programming Guide, "Shared Memory"); more is asked
/// of the function first, once for each function and device.
constexpr unsigned kSharedWithoutAsking = 48u << 10;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

int CudaDriver::pointerOrdinal(const void* pointer) const {
  // One question for several attributes succeeds for host memory too, which CUDA does not know; the single one would
  // leave an error for tools that list refused calls.
  CUmemorytype type{};
  int device = -1;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* answers[] = {&type, &device};
  const CUresult asked = api_.cuPointerGetAttributes(2, attributes, answers, address(pointer));
  return asked == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE ? device : -1;
}

std::vector<ForeignTouch> CudaDriver::foreignTouches(const std::vector<MemoryTouch>& touches, int device) const {
  std::vector<ForeignTouch> foreign;
  for (const MemoryTouch& touch : touches) {
    if (touch.bytes == 0) continue;
    const int owner = pointerOrdinal(touch.pointer);
    if (owner == device) continue;
    foreign.push_back({touch.name, owner, static_cast<std::int64_t>(touch.bytes), touch.written});
  }
  return foreign;
}

/// Attributes belong to a function and a device: a module's function has one context and so one device; a library's
/// kernel is told for the current one.
CUresult CudaDriver::allowShared(const Owned<CUfunction>& function, std::uint64_t id, unsigned bytes) {
  if (bytes <= kSharedWithoutAsking) return CUDA_SUCCESS;
  const int device = deviceOf(function.context != 0 ? function.context : currentId());
  const std::lock_guard lock(sharedMutex_);
  unsigned& allowed = sharedBytes_[{id, device}];
  if (bytes <= allowed) return CUDA_SUCCESS;
  const auto asked = static_cast<int>(bytes);
  const CUresult result =
      function.context != 0
          ? api_.cuFuncSetAttribute(function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, asked)
          : api_.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, asked,
                                      reinterpret_cast<CUkernel>(function.handle), device);
  if (result == CUDA_SUCCESS) allowed = bytes;
  return result;
}

Status CudaDriver::launch(Function function, const LaunchShape& shape, Stream stream,
                          const LaunchArguments& arguments) {
  const auto entry = functions_.find(function.id);
  const auto handle = streamOf(stream);
  CUresult result = CUDA_ERROR_INVALID_HANDLE;
  if (entry && handle) result = allowShared(*entry, function.id, shape.sharedBytes);
  if (result == CUDA_SUCCESS) {
    result = api_.cuLaunchKernel(entry->handle, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                                 shape.block[1], shape.block[2], shape.sharedBytes, *handle,
                                 const_cast<void**>(arguments.params.data()), nullptr);
  }
  return finish(CallKind::kLaunch, result, [&](LogRecord& record) {
    record.stream = stream.id;
    if (entry) {
      record.name = entry->name;
      fillOwner(record, function.id, entry->context);
    }
    record.foreign = foreignTouches(arguments.touches, record.device);
  });
}

void CudaDriver::account(int device, std::int64_t bytes) {
  const std::lock_guard lock(memoryMutex_);
  MemoryInfo& info = memory_[static_cast<std::size_t>(device)];
  info.live += bytes;
  info.segments += bytes > 0 ? 1 : -1;
  if (bytes > 0) ++info.allocations;
  info.peak = std::max(info.peak, info.live);
}

Status CudaDriver::allocate(std::size_t bytes, void** pointer) {
  *pointer = nullptr;
  CUdeviceptr at = 0;
  const CUresult result = api_.cuMemAlloc(&at, bytes);
  if (result == CUDA_SUCCESS) {
    *pointer = reinterpret_cast<void*>(at);
    const int device = std::max(0, deviceOf(currentId()));
    allocations_.add(at, {static_cast<std::int64_t>(bytes), device});
    account(device, static_cast<std::int64_t>(bytes));
  }
  return finish(CallKind::kAllocate, result,
                [&](LogRecord& record) { record.bytes = static_cast<std::int64_t>(bytes); });
}

Status CudaDriver::free(void* pointer) {
  if (pointer == nullptr) return Status::kSuccess;
  const auto known = allocations_.take(address(pointer));
  if (!known) return finish(CallKind::kFree, CUDA_ERROR_INVALID_VALUE);
  account(known->second, -known->first);
  return finish(CallKind::kFree, api_.cuMemFree(address(pointer)),
                [&](LogRecord& record) { record.bytes = known->first; });
}

Status CudaDriver::pointerDevice(const void* pointer, int* device) {
  *device = pointerOrdinal(pointer);
  return *device >= 0 ? Status::kSuccess : Status::kInvalidValue;
}

Status CudaDriver::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  const auto handle = streamOf(stream);
  const int from = pointerOrdinal(source), to = pointerOrdinal(destination);
  const bool between = from >= 0 && to >= 0 && from != to;
  CUresult result = CUDA_ERROR_INVALID_HANDLE;
  if (between && !options_.topology.allowsCopy(from, to)) {
    result = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  } else if (handle) {
    result = api_.cuMemcpyAsync(address(destination), address(source), bytes, *handle);
  }
  return finish(CallKind::kCopy, result, [&](LogRecord& record) {
    record.stream = stream.id;
    record.fromDevice = from;
    record.toDevice = to;
    record.bytes = static_cast<std::int64_t>(bytes);
    if (between && result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) {
      record.detail =
          "the topology allows no copy from device " + std::to_string(from) + " to device " + std::to_string(to);
    }
  });
}

Status CudaDriver::memoryInfo(int device, MemoryInfo* info) {
  if (!validDevice(device)) return finish(CallKind::kQuery, CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(memoryMutex_);
  *info = memory_[static_cast<std::size_t>(device)];
  return Status::kSuccess;
}

Status CudaDriver::resetPeak(int device) {
  if (!validDevice(device)) return finish(CallKind::kQuery, CUDA_ERROR_INVALID_DEVICE);
  const std::lock_guard lock(memoryMutex_);
  MemoryInfo& info = memory_[static_cast<std::size_t>(device)];
  info.peak = info.live;
  return Status::kSuccess;
}

Status CudaDriver::canAccessPeer(int from, int to, bool* can) {
  *can = false;
  if (!validDevice(from) || !validDevice(to)) return finish(CallKind::kPeerAccess, CUDA_ERROR_INVALID_DEVICE);
  int answer = 0;
  const CUresult result = api_.cuDeviceCanAccessPeer(&answer, from, to);
  *can = result == CUDA_SUCCESS && answer != 0 && options_.topology.peerAccess;
  return static_cast<Status>(result);
}

CUresult CudaDriver::peerCall(int from, int to, bool enable) {
  Context own, peer;
  for (const auto& [device, context] : {std::pair{from, &own}, std::pair{to, &peer}}) {
    const Status status = primaryContext(device, context);
    if (status != Status::kSuccess) return static_cast<CUresult>(status);
  }
  CUcontext former = nullptr;
  CUresult result = api_.cuCtxGetCurrent(&former);
  if (result != CUDA_SUCCESS) return result;
  result = api_.cuCtxSetCurrent(contexts_.find(own.id)->handle);
  if (result != CUDA_SUCCESS) return result;
  const CUcontext other = contexts_.find(peer.id)->handle;
  result = enable ? api_.cuCtxEnablePeerAccess(other, 0) : api_.cuCtxDisablePeerAccess(other);
  const CUresult restored = api_.cuCtxSetCurrent(former);
  return result != CUDA_SUCCESS ? result : restored;
}

Status CudaDriver::enablePeerAccess(int from, int to) {
  const bool allowed = validDevice(from) && validDevice(to) && options_.topology.peerAccess;
  return finish(CallKind::kPeerAccess, allowed ? peerCall(from, to, true) : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
                [&](LogRecord& record) {
                  record.fromDevice = from;
                  record.toDevice = to;
                });
}

Status CudaDriver::disablePeerAccess(int from, int to) {
  const bool valid = validDevice(from) && validDevice(to);
  return finish(CallKind::kPeerAccess, valid ? peerCall(from, to, false) : CUDA_ERROR_INVALID_DEVICE,
                [&](LogRecord& record) {
                  record.fromDevice = from;
                  record.toDevice = to;
                });
}

}  // namespace redraft::devices

extern "C" __attribute__((visibility("default"))) redraft::devices::Driver* redraftMakeCudaDriver(
    const redraft::devices::CudaHost& host, const redraft::devices::CudaOptions& options, std::string& error) {
  auto driver = std::make_unique<redraft::devices::CudaDriver>(host, options);
  return driver->start(error) ? driver.release() : nullptr;
}

extern "C" __attribute__((visibility("default"))) redraft::devices::Status redraftCudaArchitecture(
    redraft::devices::Driver& driver, int device, int* version) {
  return static_cast<redraft::devices::CudaDriver&>(driver).architecture(device, version);
}
