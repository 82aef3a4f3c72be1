#include "harness/trace/driver_trace.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/files.h"
#include "devices/status.h"
#include "harness/trace/binary_trace.h"
#include "harness/trace/kineto_writer.h"

namespace redraft::harness {
namespace {

using devices::CallKind;
using devices::LogRecord;

constexpr std::int32_t kNullStream = 7;

/// The driver API's name of a call; null: not in the trace (compiles and cache look-ups are in events.jsonl).
const char* apiName(const LogRecord& call) {
  switch (call.kind) {
    case CallKind::kLaunch:
      return "cuLaunchKernel";
    case CallKind::kCopy:
      return "cuMemcpyAsync";
    case CallKind::kSetCurrent:
      return "cuCtxSetCurrent";
    case CallKind::kModuleLoad:
      return "cuModuleLoadData";
    case CallKind::kLibraryLoad:
      return "cuLibraryLoadData";
    case CallKind::kFunction:
      return "cuModuleGetFunction";
    case CallKind::kContext:
      return "cuCtxCreate";
    case CallKind::kStreamCreate:
      return "cuStreamCreate";
    case CallKind::kEventRecord:
      return "cuEventRecord";
    case CallKind::kEventWait:
      return "cuStreamWaitEvent";
    case CallKind::kSynchronize:
      return call.name == "context" ? "cuCtxSynchronize"
             : call.stream != 0     ? "cuStreamSynchronize"
                                    : "cuEventSynchronize";
    case CallKind::kPeerAccess:
      return "cuCtxEnablePeerAccess";
    case CallKind::kAllocate:
      return "cuMemAllocAsync";
    case CallKind::kFree:
      return "cuMemFreeAsync";
    default:
      return nullptr;
  }
}

/// Small numbers for the driver's ids of contexts and streams.
class Numbers {
 public:
  explicit Numbers(const std::vector<LogRecord>& records) {
    std::map<std::uint64_t, std::int32_t> devices;
    for (const LogRecord& record : records) {
      if (record.context != 0) devices[record.context] = record.device;
      if (record.objectContext != 0) devices[record.objectContext] = record.objectDevice;
      if (record.kind == CallKind::kStreamCreate && record.object != 0) created_[record.object] = record.objectContext;
    }
    for (const auto& [id, device] : devices)
      contexts_.emplace(id, std::pair{static_cast<std::int32_t>(contexts_.size() + 1), device});
    std::map<std::uint64_t, std::int32_t> counts;
    for (const auto& [stream, context] : created_) streams_[stream] = kNullStream + ++counts[context];
  }

  /// Context, device and stream of a call; a stream that nobody created is its context's null stream.
  void place(const LogRecord& call, TraceRecord& record) const {
    const auto created = created_.find(call.stream);
    const auto context = contexts_.find(created != created_.end() ? created->second : call.context);
    if (context == contexts_.end()) return;
    std::tie(record.context, record.device) = context->second;
    const auto stream = streams_.find(call.stream);
    record.stream = stream != streams_.end() ? stream->second : kNullStream;
  }
  std::int32_t contextOf(std::uint64_t id) const {
    const auto found = contexts_.find(id);
    return found == contexts_.end() ? -1 : found->second.first;
  }

 private:
  std::map<std::uint64_t, std::pair<std::int32_t, std::int32_t>> contexts_;  // number, device
  std::map<std::uint64_t, std::uint64_t> created_;                           // stream → context
  std::map<std::uint64_t, std::int32_t> streams_;
};

class Builder {
 public:
  Builder(const std::vector<LogRecord>& records, const WorkTimes& work, std::int64_t dropped, std::int64_t process)
      : numbers_(records), work_(work) {
    TraceFile& file = trace_.files.emplace_back();
    file.path = "driver log";
    file.capture = {"sim", process, dropped, {}, {}};
    for (const RecordKind kind : {RecordKind::kKernel, RecordKind::kCopy, RecordKind::kPeerCopy, RecordKind::kApi,
                                  RecordKind::kSync, RecordKind::kEvent, RecordKind::kContext, RecordKind::kStream,
                                  RecordKind::kModule, RecordKind::kFunction, RecordKind::kRace, RecordKind::kHandOff})
      file.capture.kinds.emplace_back(recordKindName(kind));
    begin_ = records.empty() ? 0 : records.front().nanos;
    for (const LogRecord& record : records) begin_ = std::min(begin_, record.nanos);
  }

  void add(const LogRecord& call) {
    if (call.kind == CallKind::kRace) return addRace(call);
    if (call.kind == CallKind::kHandOff) return addHandOff(call);
    if (call.kind == CallKind::kOwnStream) return addOwnStream(call);
    const char* name = apiName(call);
    if (name == nullptr) return;
    TraceRecord api = common(call);
    api.kind = RecordKind::kApi;
    api.flags = kDriverApi;
    api.device = api.context = api.stream = -1;
    const bool refused = call.status != devices::Status::kSuccess;
    api.name = text(refused ? std::string("refused ") + name : name);
    if (refused) api.detail = text(std::string(devices::statusName(call.status)) + ": " + call.detail);
    const auto ran = work_.find(call.sequence);
    if (ran != work_.end())
      api.durationNs = std::max<std::int64_t>(1, ran->second.first + ran->second.second - call.nanos);
    trace_.records.push_back(api);
    if (!refused) addEffect(call);
  }

  Trace take() {
    std::set<std::int32_t> devices;
    for (TraceRecord& record : trace_.records) {
      record.place = record.index = static_cast<std::uint32_t>(&record - trace_.records.data());
      if (record.device >= 0) devices.insert(record.device);
    }
    for (const std::int32_t device : devices) trace_.files.front().deviceNames[device] = "simulated";
    trace_.files.front().events = trace_.records.size();
    return std::move(trace_);
  }

 private:
  StringId text(std::string_view of) { return trace_.strings.intern(of); }

  TraceRecord common(const LogRecord& call) {
    TraceRecord record;
    record.startNs = call.nanos - begin_ + 1000;  // HTA and the gate take 0 for a time that is missing
    record.durationNs = 1;
    record.thread = static_cast<std::int64_t>(call.thread);
    record.correlation = static_cast<std::int64_t>(call.sequence);
    record.step = static_cast<std::int32_t>(call.origin.step);
    if (call.origin.role != 0) {
      record.role = text(devices::roleName(call.origin.role));
      trace_.files.front().threadNames.try_emplace(record.thread, trace_.text(record.role));
    }
    if (call.origin.phase != devices::Phase::kNone) record.phase = text(devices::phaseName(call.origin.phase));
    numbers_.place(call, record);
    return record;
  }

  void addRace(const LogRecord& race) {
    TraceRecord record = common(race);
    record.kind = RecordKind::kRace;
    record.name = text(race.name);
    record.detail = text(race.detail);
    record.bytes = race.bytes;
    record.correlation = -1;
    trace_.records.push_back(record);
  }

  void addHandOff(const LogRecord& end) {
    TraceRecord record = common(end);
    record.kind = RecordKind::kHandOff;
    record.name = text(end.name);
    record.flags = end.name == devices::kHandOffTaken ? kConsumer : 0;
    record.handoff = static_cast<std::uint32_t>(end.object);
    record.bytes = end.bytes;
    record.correlation = -1;
    trace_.records.push_back(record);
  }

  void addOwnStream(const LogRecord& own) {
    TraceRecord record = common(own);
    record.kind = RecordKind::kStream;
    record.name = text("stream of a role");
    record.flags = kOwned;
    record.correlation = -1;
    trace_.records.push_back(record);
  }

  void addEffect(const LogRecord& call) {
    TraceRecord record = common(call);
    if (const auto ran = work_.find(call.sequence); ran != work_.end()) {
      record.startNs += ran->second.first - call.nanos;
      record.durationNs = std::max<std::int64_t>(1, ran->second.second);
    }
    record.name = text(call.name);
    record.object = call.object;
    switch (call.kind) {
      case CallKind::kLaunch:
        work(record, RecordKind::kKernel);
        break;
      case CallKind::kCopy:
        copy(call, record);
        break;
      case CallKind::kEventRecord:
        recordings_[call.object] = record.link = static_cast<std::int64_t>(call.sequence);
        of(record, RecordKind::kEvent, "cudaEventRecord");
        break;
      case CallKind::kEventWait:
        wait(record, "Stream Wait Event", call.object);
        break;
      case CallKind::kSynchronize:
        synchronise(call, record);
        break;
      case CallKind::kContext:
        context(call, record);
        break;
      case CallKind::kStreamCreate:
        record.flags = kNonBlocking;  // as the driver interface makes them
        of(record, RecordKind::kStream, "stream");
        break;
      case CallKind::kModuleLoad:
        owned(call, record, RecordKind::kModule);
        break;
      case CallKind::kFunction:
        owned(call, record, RecordKind::kFunction);
        break;
      default:
        break;
    }
  }

  void work(TraceRecord& record, RecordKind kind) {
    record.kind = kind;
    trace_.records.push_back(record);
  }
  void of(TraceRecord& record, RecordKind kind, const char* name) {
    record.name = text(name);
    work(record, kind);
  }

  void copy(const LogRecord& call, TraceRecord& record) {
    record.bytes = call.bytes;
    if (call.fromDevice >= 0 && call.toDevice >= 0 && call.fromDevice != call.toDevice) {
      record.fromDevice = call.fromDevice;
      record.toDevice = call.toDevice;
      record.flags = call.staged ? kStaged : 0;
      return of(record, RecordKind::kPeerCopy, "Memcpy PtoP (Device -> Device)");
    }
    if (call.bytes == 0) return;  // CUDA leaves no record of it either
    if (call.fromDevice < 0 || call.toDevice < 0) record.flags = kPageable;
    of(record, RecordKind::kCopy,
       call.fromDevice < 0 ? "Memcpy HtoD (Pageable -> Device)"
       : call.toDevice < 0 ? "Memcpy DtoH (Device -> Pageable)"
                           : "Memcpy DtoD (Device -> Device)");
  }

  void wait(TraceRecord& record, const char* name, std::uint64_t event) {
    const auto recording = recordings_.find(event);
    if (recording != recordings_.end()) record.link = recording->second;
    of(record, RecordKind::kSync, name);
  }

  void synchronise(const LogRecord& call, TraceRecord& record) {
    if (call.name == "context") {
      record.stream = -1;
      of(record, RecordKind::kSync, "Context Sync");
    } else if (call.stream != 0) {
      of(record, RecordKind::kSync, "Stream Sync");
    } else {
      wait(record, "Event Sync", call.object);
    }
  }

  void context(const LogRecord& call, TraceRecord& record) {
    if (call.name == "destroyed") return;
    record.device = call.objectDevice;
    record.context = numbers_.contextOf(call.objectContext);
    record.stream = kNullStream;
    of(record, RecordKind::kContext, call.name == "primary" ? "primary context" : "context");
  }

  void owned(const LogRecord& call, TraceRecord& record, RecordKind kind) {
    if (call.objectContext == 0) return;  // of a library: it runs everywhere
    record.device = call.objectDevice;
    record.context = numbers_.contextOf(call.objectContext);
    record.stream = -1;
    work(record, kind);
  }

  const Numbers numbers_;
  const WorkTimes& work_;
  Trace trace_;
  std::int64_t begin_ = 0;
  std::map<std::uint64_t, std::int64_t> recordings_;  // event → its newest recording
};

}  // namespace

void DriverTraceRecorder::add(const LogRecord& record) {
  const bool succeeded = record.status == devices::Status::kSuccess;
  const bool ofCheck =
      record.kind == CallKind::kRace || record.kind == CallKind::kHandOff || record.kind == CallKind::kOwnStream;
  if (!ofCheck && apiName(record) == nullptr) return;
  if (succeeded &&
      (record.kind == CallKind::kSetCurrent || record.kind == CallKind::kAllocate || record.kind == CallKind::kFree))
    return;
  const bool works = record.kind == CallKind::kLaunch || record.kind == CallKind::kCopy;
  const std::lock_guard lock(mutex_);
  const bool kept = records_.size() < capacity_;
  if (kept) {
    records_.push_back(record);
  } else {
    ++lost_;
  }
  if (works) newest_[record.thread] = kept ? record.sequence : 0;
}

void DriverTraceRecorder::addWork(std::int64_t begin, std::int64_t lasted) {
  const std::lock_guard lock(mutex_);
  const auto call = newest_.find(static_cast<std::uint64_t>(::gettid()));
  if (call != newest_.end() && call->second != 0) work_[call->second] = {begin, lasted};
}

Trace DriverTraceRecorder::trace(std::int64_t process) const {
  const std::lock_guard lock(mutex_);
  std::vector<LogRecord> records = records_;
  std::sort(records.begin(), records.end(),
            [](const LogRecord& a, const LogRecord& b) { return a.sequence < b.sequence; });
  Builder builder(records, work_, lost_, process);
  for (const LogRecord& record : records) builder.add(record);
  return builder.take();
}

void writeTraceFolder(const Trace& trace, const std::string& folder) {
  makeDirectories(folder);
  writeBinaryTrace(trace, joinPath(folder, "run" + std::string(kBinaryTraceSuffix)));
  writeKinetoFiles(trace, folder);
}

}  // namespace redraft::harness
