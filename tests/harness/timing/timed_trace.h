#pragma once
// Traces for the tests of attribution: launches with the times of call and work, waits, events. All times in
// nanoseconds.

#include <string>
#include <utility>

#include "harness/timing/time_split.h"
#include "harness/trace/trace.h"

namespace redraft::testing_support {

struct Launch {
  std::string name = "matmul";
  std::int64_t calledAt = 0, begin = 0, end = 0;
  int step = 0, device = 0, stream = 7;
  std::string role = "drafter", phase = "", shape = "";
  harness::RecordKind kind = harness::RecordKind::kKernel;
  std::int64_t bytes = 0;
};

class TimedTrace {
 public:
  /// A capture that says that it has all kinds.
  TimedTrace() {
    harness::TraceFile& file = trace.files.emplace_back();
    file.path = "timed.json";
    file.capture = {"cupti", 42, 0, {}, {}};
    for (int kind = 0; kind < harness::kRecordKinds; ++kind)
      file.capture.kinds.emplace_back(harness::recordKindName(static_cast<harness::RecordKind>(kind)));
  }

  harness::TraceRecord& add(harness::RecordKind kind, const std::string& name, std::int64_t begin, std::int64_t end) {
    harness::TraceRecord& record = trace.records.emplace_back();
    record.kind = kind;
    record.name = trace.strings.intern(name);
    record.index = static_cast<std::uint32_t>(trace.records.size() - 1);
    record.startNs = begin;
    record.durationNs = end - begin;
    return record;
  }

  /// A call by the role's thread: 5 + the length of its name.
  harness::TraceRecord& call(const std::string& name, const std::string& role, std::int64_t begin, std::int64_t end,
                             int step = 0) {
    harness::TraceRecord& record = add(harness::RecordKind::kApi, name, begin, end);
    record.role = trace.strings.intern(role);
    record.thread = 5 + static_cast<std::int64_t>(role.size());
    record.step = step;
    record.correlation = ++correlation;
    return record;
  }

  TimedTrace& launch(const Launch& of) {
    call(of.kind == harness::RecordKind::kKernel ? "cudaLaunchKernel" : "cudaMemcpyAsync", of.role, of.calledAt,
         of.calledAt + 10, of.step);
    harness::TraceRecord& record = add(of.kind, of.name, of.begin, of.end);
    record.device = of.device;
    record.context = of.device + 1;
    record.stream = of.stream;
    record.step = of.step;
    record.role = trace.strings.intern(of.role);
    record.phase = trace.strings.intern(of.phase);
    record.shape = trace.strings.intern(of.shape);
    record.bytes = of.bytes;
    record.correlation = correlation;
    return *this;
  }

  /// An event recorded on a stream, and the number of that recording.
  std::int64_t event(const std::string& role, int device, int stream, std::int64_t at) {
    call("cudaEventRecord", role, at, at + 5);
    return onStream(harness::RecordKind::kEvent, "cudaEventRecord", device, stream, at, correlation);
  }
  void streamWaits(const std::string& role, int device, int stream, std::int64_t at, std::int64_t recording) {
    call("cudaStreamWaitEvent", role, at, at + 5);
    onStream(harness::RecordKind::kSync, "Stream Wait Event", device, stream, at, recording);
  }

  harness::Trace trace;
  std::int64_t correlation = 0;

 private:
  std::int64_t onStream(harness::RecordKind kind, const char* name, int device, int stream, std::int64_t at,
                        std::int64_t link) {
    harness::TraceRecord& record = add(kind, name, at, at + 1);
    record.device = device;
    record.context = device + 1;
    record.stream = stream;
    record.correlation = correlation;
    record.link = link;
    return link;
  }
};

inline std::int64_t partOf(const harness::DeviceSplit& device, harness::TimePart part) {
  return device.parts[static_cast<std::size_t>(part)];
}

/// The only group of a part; an empty one when there are none or several.
inline harness::TimeGroup groupOf(const harness::DeviceSplit& device, harness::TimePart part) {
  harness::TimeGroup found;
  int count = 0;
  for (const harness::TimeGroup& group : device.groups) {
    if (group.part != part) continue;
    found = group;
    ++count;
  }
  return count == 1 ? found : harness::TimeGroup();
}

}  // namespace redraft::testing_support
