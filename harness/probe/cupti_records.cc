#include "harness/probe/cupti_records.h"

#include <cuda.h>
#include <cupti_activity.h>

#include <cstring>
#include <limits>
#include <string>

#include "devices/status.h"
#include "harness/trace/launch_shape.h"

namespace redraft::harness {
namespace {

/// As signed: CUPTI's "none" is all ones.
std::int32_t ordinal(std::uint32_t id) { return static_cast<std::int32_t>(id); }
std::int64_t nanos(std::uint64_t time) { return static_cast<std::int64_t>(time); }

const char* memoryText(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "Managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "Device Static";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "Managed Static";
    default:
      return "Unknown";
  }
}

const char* copyText(std::uint32_t kind) {
  constexpr const char* kNames[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                    "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < std::size(kNames) ? kNames[kind] : "Unknown";
}

/// Names as Kineto gives them, so that readers of its traces know these; null: no wait.
const char* waitText(std::uint32_t type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "Event Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "Stream Wait Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "Stream Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "Context Sync";
    default:
      return nullptr;
  }
}

/// A call's status, named as in the run's events. The runtime's numbers are the driver's, where both have one.
std::string statusText(std::uint32_t value) {
  const auto status = static_cast<devices::Status>(value);
  const std::string name = devices::statusName(status);
  const bool known = name != devices::statusName(devices::Status{-1});
  return name + ": " + (known ? devices::statusDescription(status) : "error " + std::to_string(value));
}

const char* overheadText(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "Driver Compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "Buffer Flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "Instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "Resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "Runtime Triggered Module Loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "Lazy Function Loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "Command Buffer Full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "Activity Buffer Request";
    default:
      return "Overhead";
  }
}

/// Reads one buffer. Records are copied out of the bytes: a buffer that is cut anywhere is never read beyond its end.
class BufferParser {
 public:
  BufferParser(const RecordTexts& texts, CorrelationCounter& correlations, std::vector<TraceRecord>& records)
      : texts_(texts), correlations_(correlations), records_(records) {}

  void parse(std::uint32_t kind, const std::byte* bytes) {
    switch (kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return kernel(copyOf<CUpti_ActivityKernel10>(bytes));
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return copy(copyOf<CUpti_ActivityMemcpy6>(bytes));
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return peerCopy(copyOf<CUpti_ActivityMemcpyPtoP4>(bytes));
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return set(copyOf<CUpti_ActivityMemset4>(bytes));
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return call(copyOf<CUpti_ActivityAPI>(bytes));
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return wait(copyOf<CUpti_ActivitySynchronization2>(bytes));
      case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return event(copyOf<CUpti_ActivityCudaEvent2>(bytes));
      case CUPTI_ACTIVITY_KIND_CONTEXT:
        return context(copyOf<CUpti_ActivityContext3>(bytes));
      case CUPTI_ACTIVITY_KIND_STREAM:
        return stream(copyOf<CUpti_ActivityStream>(bytes));
      case CUPTI_ACTIVITY_KIND_MEMORY2:
        return memory(copyOf<CUpti_ActivityMemory4>(bytes));
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return overhead(copyOf<CUpti_ActivityOverhead3>(bytes));
      default:
        return;
    }
  }

 private:
  template <class Activity>
  static Activity copyOf(const std::byte* bytes) {
    Activity activity;
    std::memcpy(&activity, bytes, sizeof activity);
    return activity;
  }

  /// An enum of CUPTI's as a number: bytes that are no value of it may not be loaded as one.
  template <class Activity>
  static std::uint32_t number(const Activity& of, std::size_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(&of) + offset, sizeof value);
    return value;
  }

  StringId text(const std::string& of) const { return texts_.strings->intern(of); }
  std::int64_t correlation(std::uint32_t low) { return correlations_.widen(low); }
  void add(const TraceRecord& record) { records_.push_back(record); }

  /// Members that records of device work share. A time that is missing stays 0.
  template <class Activity>
  TraceRecord work(const Activity& of, RecordKind kind) {
    TraceRecord record = timed(of, kind);
    record.device = ordinal(of.deviceId);
    record.context = ordinal(of.contextId);
    record.stream = ordinal(of.streamId);
    record.graph = of.graphId == 0 ? -1 : ordinal(of.graphId);
    return record;
  }
  template <class Activity>
  TraceRecord timed(const Activity& of, RecordKind kind) {
    TraceRecord record;
    record.kind = kind;
    record.startNs = nanos(of.start);
    record.durationNs = of.end > of.start ? nanos(of.end - of.start) : 0;
    record.correlation = correlation(of.correlationId);
    return record;
  }

  void kernel(const CUpti_ActivityKernel10& of) {
    TraceRecord record = work(of, RecordKind::kKernel);
    record.name = texts_.kernel(of.name);
    record.shape = text(launchShape({of.gridX, of.gridY, of.gridZ}, {of.blockX, of.blockY, of.blockZ}));
    add(record);
  }

  void copy(const CUpti_ActivityMemcpy6& of) {
    TraceRecord record = work(of, RecordKind::kCopy);
    record.bytes = nanos(of.bytes);
    record.name = text(std::string("Memcpy ") + copyText(of.copyKind) + " (" + memoryText(of.srcKind) + " -> " +
                       memoryText(of.dstKind) + ")");
    const bool pageable =
        of.srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE || of.dstKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    record.flags = pageable ? kPageable : 0;
    add(record);
  }

  void peerCopy(const CUpti_ActivityMemcpyPtoP4& of) {
    TraceRecord record = work(of, RecordKind::kPeerCopy);
    record.bytes = nanos(of.bytes);
    record.fromDevice = ordinal(of.srcDeviceId);
    record.toDevice = ordinal(of.dstDeviceId);
    record.name = text("Memcpy PtoP (Device -> Device)");
    add(record);
  }

  void set(const CUpti_ActivityMemset4& of) {
    TraceRecord record = work(of, RecordKind::kSet);
    record.bytes = nanos(of.bytes);
    record.name = text(std::string("Memset (") + memoryText(of.memoryKind) + ")");
    add(record);
  }

  void call(const CUpti_ActivityAPI& of) {
    TraceRecord record = timed(of, RecordKind::kApi);
    const bool driver = number(of, offsetof(CUpti_ActivityAPI, kind)) == CUPTI_ACTIVITY_KIND_DRIVER;
    record.thread = of.threadId;
    record.flags = driver ? kDriverApi : 0;
    record.name = texts_.call(driver, of.cbid);
    if (record.name == 0) record.name = text((driver ? "cu" : "cuda") + std::string("#") + std::to_string(of.cbid));
    if (of.returnValue != 0) {
      record.name = text("refused " + texts_.strings->text(record.name));
      record.detail = text(statusText(of.returnValue));
    }
    add(record);
  }

  void wait(const CUpti_ActivitySynchronization2& of) {
    const std::uint32_t type = number(of, offsetof(CUpti_ActivitySynchronization2, type));
    const char* name = waitText(type);
    if (name == nullptr || of.returnValue == CUDA_ERROR_NOT_READY) return;
    TraceRecord record = timed(of, RecordKind::kSync);
    record.name = text(name);
    record.context = ordinal(of.contextId);
    record.stream = ordinal(of.streamId);
    const bool ofEvent = type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE ||
                         type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    if (ofEvent) {
      if (of.cudaEventId != CUPTI_SYNCHRONIZATION_INVALID_VALUE) record.object = of.cudaEventId;
      record.link = recording(of.cudaEventSyncId);
    }
    add(record);
  }

  static std::int64_t recording(std::uint64_t id) {
    const bool none = id == CUPTI_SYNCHRONIZATION_INVALID_VALUE || id == std::numeric_limits<std::uint64_t>::max();
    return none ? -1 : static_cast<std::int64_t>(id);
  }

  void event(const CUpti_ActivityCudaEvent2& of) {
    TraceRecord record;
    record.kind = RecordKind::kEvent;
    record.correlation = correlation(of.correlationId);
    record.name = text("cudaEventRecord");
    record.device = ordinal(of.deviceId);
    record.context = ordinal(of.contextId);
    record.stream = ordinal(of.streamId);
    record.object = of.eventId;
    record.link = recording(of.cudaEventSyncId);
    add(record);
  }

  void context(const CUpti_ActivityContext3& of) {
    TraceRecord record;
    record.kind = RecordKind::kContext;
    record.name = text(of.isGreenContext == 0 ? "context"
                                              : std::string(kGreenContext) + " of " +
                                                    std::to_string(of.numMultiprocessors) + " multiprocessors");
    record.device = ordinal(of.deviceId);
    record.context = ordinal(of.contextId);
    record.stream = of.nullStreamId;
    add(record);
  }

  void stream(const CUpti_ActivityStream& of) {
    TraceRecord record;
    record.kind = RecordKind::kStream;
    const std::uint32_t flag = number(of, offsetof(CUpti_ActivityStream, flag));
    const bool null = flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
    record.name = text(null ? "null stream" : "stream");
    record.context = ordinal(of.contextId);
    record.stream = ordinal(of.streamId);
    record.correlation = correlation(of.correlationId);
    record.flags = flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING ? kNonBlocking : 0;
    add(record);
  }

  void memory(const CUpti_ActivityMemory4& of) {
    const std::uint32_t kind = number(of, offsetof(CUpti_ActivityMemory4, memoryKind));
    const std::uint32_t operation = number(of, offsetof(CUpti_ActivityMemory4, memoryOperationType));
    const bool onDevice = kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE ||
                          kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC ||
                          kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    if (!onDevice) return;
    TraceRecord record;
    record.kind = RecordKind::kAllocation;
    record.startNs = nanos(of.timestamp);
    record.correlation = correlation(of.correlationId);
    record.name = text(memoryText(kind));
    const bool freed = operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
    record.bytes = freed ? -nanos(of.bytes) : nanos(of.bytes);
    record.object = of.address;
    record.device = ordinal(of.deviceId);
    record.context = ordinal(of.contextId);
    record.stream = ordinal(of.streamId);
    add(record);
  }

  void overhead(const CUpti_ActivityOverhead3& of) {
    TraceRecord record = timed(of, RecordKind::kOverhead);
    record.name = text(overheadText(number(of, offsetof(CUpti_ActivityOverhead3, overheadKind))));
    const std::uint32_t object = number(of, offsetof(CUpti_ActivityOverhead3, objectKind));
    if (object == CUPTI_ACTIVITY_OBJECT_THREAD) record.thread = of.objectId.pt.threadId;
    const bool placed = object == CUPTI_ACTIVITY_OBJECT_DEVICE || object == CUPTI_ACTIVITY_OBJECT_CONTEXT ||
                        object == CUPTI_ACTIVITY_OBJECT_STREAM;
    if (placed) record.device = ordinal(of.objectId.dcs.deviceId);
    if (placed && object != CUPTI_ACTIVITY_OBJECT_DEVICE) record.context = ordinal(of.objectId.dcs.contextId);
    if (object == CUPTI_ACTIVITY_OBJECT_STREAM) record.stream = ordinal(of.objectId.dcs.streamId);
    add(record);
  }

  const RecordTexts& texts_;
  CorrelationCounter& correlations_;
  std::vector<TraceRecord>& records_;
};

}  // namespace

std::size_t activityRecordSize(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_NAME:
      return sizeof(CUpti_ActivityName);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_MARKER_DATA:
      return sizeof(CUpti_ActivityMarkerData2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_FUNCTION:
      return sizeof(CUpti_ActivityFunction);
    case CUPTI_ACTIVITY_KIND_MODULE:
      return sizeof(CUpti_ActivityModule);
    default:
      return 0;
  }
}

ParsedBuffer parseActivityBuffer(std::span<const std::byte> bytes, const RecordTexts& texts,
                                 CorrelationCounter& correlations, std::vector<TraceRecord>& records) {
  BufferParser parser(texts, correlations, records);
  ParsedBuffer parsed;
  while (parsed.bytes < bytes.size()) {
    const std::span<const std::byte> rest = bytes.subspan(parsed.bytes);
    std::uint32_t kind = 0;
    parsed.truncated = rest.size() < sizeof kind;
    if (parsed.truncated) break;
    std::memcpy(&kind, rest.data(), sizeof kind);
    const std::size_t size = activityRecordSize(kind);
    if (size == 0) parsed.unknownKind = kind;
    parsed.truncated = size > rest.size();
    if (size == 0 || parsed.truncated) break;
    parser.parse(kind, rest.data());
    ++parsed.records;
    parsed.bytes += size;
  }
  return parsed;
}

}  // namespace redraft::harness
