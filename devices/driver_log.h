#pragma once
// What every driver call did: who, where, from which thread and role. Kept in memory up to a bound and handed to a
// sink.

#include <atomic>
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
  kContext,
  kSetCurrent,
  kModuleLoad,
  kModuleUnload,
  kLibraryLoad,
  kStreamCreate,
  kEventRecord,
  kEventWait,
  kLaunch,
  kCopy,
  kAllocate,
  kFree,
  kSynchronize,
  kPeerAccess,
  kCompile,
  kCacheHit,
  kCacheMiss,
  kLibraryUnload,
  kFunction,
  kStreamDestroy,
  kEventCreate,
  kEventDestroy,
  kElapsed,
  kQuery,
  kHostMemory,
  kRace,
  kHandOff,    // no call: one end of a hand-off between roles (devices/declarations.h); `object` is its number
  kOwnStream,  // no call: `stream` is the calling role's own
};
constexpr int kCallKinds = static_cast<int>(CallKind::kOwnStream) + 1;

/// `name` of a kHandOff record.
inline constexpr const char* kHandOffGiven = "given";
inline constexpr const char* kHandOffTaken = "taken";

const char* callKindName(CallKind kind);

/// One range of a launch or copy that lies on another device than the one that it ran on, or in no memory of a device.
struct ForeignTouch {
  std::string name;
  int device = -1;  // -1: host memory that is not registered, freed memory, or beyond an allocation's end
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
  std::string detail;                  // why a call was refused; both sides of a race. Free text, often empty
  int fromDevice = -1, toDevice = -1;  // copies; -1 is the host
  bool staged = false;                 // a device-to-device copy through the host
  std::int64_t bytes = 0;
  std::vector<ForeignTouch> foreign;
};

/// The number by which people know a driver's object. The simulator's ids carry a serial of the driver above it.
inline std::uint64_t shownId(std::uint64_t id) { return id & 0xFFFFFFFFu; }

/// A record of `kind` with time, thread and origin filled in.
LogRecord newLogRecord(CallKind kind);

/// Called on the calling thread of the driver call, outside the driver's locks; it may call the driver. Threads meet in
/// it: records of different threads may arrive out of the order of their sequence numbers. What it throws reaches the
/// caller.
using LogSink = std::function<void(const LogRecord&)>;

/// Thread-safe. Muted kinds cost one relaxed load and a counter of the calling thread's own cache line:
///     if (log.wants(kind)) log.add(record) else log.skip(kind)
class DriverLog {
 public:
  virtual ~DriverLog() = default;

  /// Whether a successful call of this kind is kept. Refused calls always are.
  bool wants(CallKind kind) const { return (muted_.load(std::memory_order_relaxed) & bit(kind)) == 0; }
  /// Counts a call for which no record was made.
  virtual void skip(CallKind kind) = 0;
  /// Counts the call, gives the record its sequence number, keeps it and passes it on; a muted kind is only counted,
  /// unless the record tells of a refusal.
  virtual void add(LogRecord record) = 0;
  /// Calls of a kind so far, muted or not.
  virtual std::uint64_t count(CallKind kind) const = 0;

  /// Successful calls of these kinds are neither kept nor passed on (allocations are many). Counters go on.
  void mute(CallKind kind, bool muted) {
    if (muted) {
      muted_.fetch_or(bit(kind), std::memory_order_relaxed);
    } else {
      muted_.fetch_and(~bit(kind), std::memory_order_relaxed);
    }
  }

  /// Replaces the sink; null removes it. A call that is under way on another thread may still reach the former one.
  virtual void setSink(LogSink sink) = 0;
  virtual std::vector<LogRecord> records() const = 0;  // the newest `capacity`, in order
  virtual std::uint64_t dropped() const = 0;           // records that the bound pushed out

 private:
  static std::uint32_t bit(CallKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }
  std::atomic<std::uint32_t> muted_{0};
};
static_assert(kCallKinds <= 32, "the mask of muted kinds has 32 bits");

std::unique_ptr<DriverLog> makeDriverLog(std::size_t capacity);

}  // namespace redraft::devices
