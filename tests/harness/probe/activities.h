#pragma once
// CUPTI's activity records, as CUPTI would fill them in.

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace redraft::testing_support {

using Bytes = std::vector<std::byte>;

template <class Activity>
void append(Bytes& bytes, const Activity& activity) {
  const auto* data = reinterpret_cast<const std::byte*>(&activity);
  bytes.insert(bytes.end(), data, data + sizeof activity);
}

inline CUpti_ActivityKernel10 kernelActivity(std::uint32_t correlation, const char* name = "matmul",
                                             std::uint64_t start = 5000) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = start;
  kernel.end = start + 100;
  kernel.deviceId = 1;
  kernel.contextId = 2;
  kernel.streamId = 13;
  kernel.correlationId = correlation;
  kernel.name = name;
  return kernel;
}

inline CUpti_ActivityAPI callActivity(CUpti_ActivityKind kind, std::uint32_t callback, std::uint32_t correlation,
                                      std::uint32_t thread, std::uint64_t start = 4000) {
  CUpti_ActivityAPI call{};
  call.kind = kind;
  call.cbid = callback;
  call.start = start;
  call.end = start + 50;
  call.threadId = thread;
  call.correlationId = correlation;
  return call;
}

inline CUpti_ActivityMemcpy6 copyActivity(std::uint32_t correlation, std::uint8_t kind, std::uint8_t from,
                                          std::uint8_t to) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = kind;
  copy.srcKind = from;
  copy.dstKind = to;
  copy.bytes = 4096;
  copy.start = 6000;
  copy.end = 6010;
  copy.deviceId = 0;
  copy.contextId = 1;
  copy.streamId = 7;
  copy.correlationId = correlation;
  return copy;
}

inline CUpti_ActivityMemcpyPtoP4 peerCopyActivity(std::uint32_t correlation, std::uint32_t from, std::uint32_t to) {
  CUpti_ActivityMemcpyPtoP4 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  copy.bytes = 1 << 20;
  copy.start = 7000;
  copy.end = 7500;
  copy.deviceId = copy.srcDeviceId = from;
  copy.contextId = copy.srcContextId = from + 1;
  copy.dstDeviceId = to;
  copy.dstContextId = to + 1;
  copy.streamId = 21;
  copy.correlationId = correlation;
  return copy;
}

inline CUpti_ActivityMemset4 setActivity(std::uint32_t correlation) {
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 64;
  set.start = 8000;
  set.end = 8001;
  set.contextId = 1;
  set.streamId = 7;
  set.correlationId = correlation;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  set.graphId = 5;
  return set;
}

inline CUpti_ActivitySynchronization2 waitActivity(CUpti_ActivitySynchronizationType type, std::uint32_t correlation,
                                                   std::uint64_t recording, std::uint32_t result = 0) {
  CUpti_ActivitySynchronization2 wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = type;
  wait.start = 9000;
  wait.end = 9900;
  wait.correlationId = correlation;
  wait.contextId = 2;
  wait.streamId = 13;
  wait.cudaEventId = 77;
  wait.cudaEventSyncId = recording;
  wait.returnValue = result;
  return wait;
}

inline CUpti_ActivityCudaEvent2 eventActivity(std::uint32_t correlation, std::uint64_t recording) {
  CUpti_ActivityCudaEvent2 event{};
  event.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  event.correlationId = correlation;
  event.contextId = 1;
  event.streamId = 7;
  event.eventId = 77;
  event.deviceId = 0;
  event.cudaEventSyncId = recording;
  return event;
}

inline CUpti_ActivityContext3 contextActivity(std::uint32_t context, std::uint32_t device) {
  CUpti_ActivityContext3 made{};
  made.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  made.contextId = context;
  made.deviceId = device;
  made.nullStreamId = 7;
  return made;
}

inline CUpti_ActivityStream streamActivity(std::uint32_t context, std::uint32_t stream, std::uint32_t correlation) {
  CUpti_ActivityStream made{};
  made.kind = CUPTI_ACTIVITY_KIND_STREAM;
  made.contextId = context;
  made.streamId = stream;
  made.correlationId = correlation;
  made.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
  return made;
}

inline CUpti_ActivityMemory4 memoryActivity(CUpti_ActivityMemoryOperationType operation,
                                            CUpti_ActivityMemoryKind kind) {
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = operation;
  memory.memoryKind = kind;
  memory.correlationId = 9;
  memory.address = 0x7f00;
  memory.bytes = 2 << 20;
  memory.timestamp = 3000;
  memory.deviceId = 1;
  memory.contextId = 2;
  memory.streamId = CUPTI_INVALID_STREAM_ID;
  return memory;
}

inline CUpti_ActivityOverhead3 overheadActivity(CUpti_ActivityOverheadKind kind, std::uint32_t thread) {
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = kind;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = thread;
  overhead.start = 100;
  overhead.end = 180;
  return overhead;
}

}  // namespace redraft::testing_support
