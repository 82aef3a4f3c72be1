#pragma once
// What every driver call did: who, where, from which thread and role. Kept in memory up to a bound and handed to a sink.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devices/origin.h"
#include "devices/status.h"

namespace redraft::devices {

enum class CallKind : std::uint8_t {
  kContext, kSetCurrent, kModuleLoad, kModuleUnload, kLibraryLoad, kStreamCreate, kEventRecord, kEventWait,
  kLaunch, kCopy, kAllocate, kFree, kSynchronize, kPeerAccess, kCompile, kCacheHit, kCacheMiss,
};

const char* callKindName(CallKind kind);

/// One range of a launch or copy that lies on another device than the one that it ran on.
struct ForeignTouch {
  std::string name;
  int device = -1;
  std::int64_t bytes = 0;
  bool written = false;
};

struct LogRecord {
  std::uint64_t sequence = 0;  // unique, in order of the calls
  std::int64_t nanos = 0;      // steady clock
  std::uint64_t thread = 0;    // gettid
  Origin origin;
  CallKind kind = CallKind::kLaunch;
  Status status = Status::kSuccess;
  int device = -1;            // of the current context
  std::uint64_t context = 0;  // current context
  std::uint64_t stream = 0;
  std::uint64_t object = 0;  // function, module, event …
  int objectDevice = -1;     // device of the context that the object belongs to; -1: every context
  std::uint64_t objectContext = 0;
  std::string name;                    // kernel or artefact name
  int fromDevice = -1, toDevice = -1;  // copies; -1 is the host
  bool staged = false;                 // a device-to-device copy through the host
  std::int64_t bytes = 0;
  std::vector<ForeignTouch> foreign;
};

/// Called on the calling thread of the driver call, outside the driver's locks.
using LogSink = std::function<void(const LogRecord&)>;

class DriverLog {
 public:
  virtual ~DriverLog() = default;
  virtual void add(LogRecord record) = 0;
  /// Records of these kinds are neither kept nor passed on (allocations are many). Counters go on.
  virtual void mute(CallKind kind, bool muted) = 0;
  virtual void setSink(LogSink sink) = 0;
  virtual std::vector<LogRecord> records() const = 0;  // the newest `capacity`
  virtual std::uint64_t dropped() const = 0;           // records that the bound pushed out
};

std::unique_ptr<DriverLog> makeDriverLog(std::size_t capacity);

}  // namespace redraft::devices
