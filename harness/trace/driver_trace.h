#pragma once
// The trace of a run on simulated devices, made from its driver's log when the run has ended.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "devices/driver_log.h"
#include "harness/trace/trace.h"

namespace redraft::harness {

/// When work ran: begin and length in nanoseconds, by the number of its call.
using WorkTimes = std::unordered_map<std::uint64_t, std::pair<std::int64_t, std::int64_t>>;

/// Keeps what a trace shows of a driver's log, as it comes. Thread-safe: a sink may call add(). Allocations and changes
/// of the current context, which every operation makes, are left out (memory.json has their sums).
class DriverTraceRecorder {
 public:
  explicit DriverTraceRecorder(std::size_t capacity = std::size_t{1} << 20) : capacity_(capacity) {}

  /// Beyond the capacity records are lost, and the trace says how many.
  void add(const devices::LogRecord& record);
  /// When the work of the calling thread's newest launch or copy ran, by the log's clock.
  void addWork(std::int64_t begin, std::int64_t lasted);

  /// The trace of what came so far, of process `process`. A call becomes an API record and, where it succeeded, what it
  /// did. The driver works on the calling thread: a call lasts until its work has ended, and what no addWork() was for
  /// begins with its call and lasts a nanosecond. Contexts are numbered from 1 in the order of their ids; streams
  /// within their context, the null stream being 7 as in CUPTI. A refused call is no launch: its name says "refused",
  /// its detail why.
  Trace trace(std::int64_t process) const;

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<devices::LogRecord> records_;
  std::int64_t lost_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> newest_;  // thread → number of its newest launch or copy, if kept
  WorkTimes work_;                                           // by that number
};

/// Writes a trace into FOLDER (made where it is missing): run.rdtrace, and device-N.kineto.json for each device. Throws
/// Error(kEnvironment).
void writeTraceFolder(const Trace& trace, const std::string& folder);

}  // namespace redraft::harness
