#pragma once
// Capture of what real devices do, as a trace: DriverTraceRecorder's sibling for CUDA. It is made by CUPTI, in a
// library of its own (libredraft_cupti.so) that is opened for a captured run alone; see docs/cuda.md, "Capture".

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "devices/declarations.h"
#include "devices/origin.h"
#include "harness/trace/trace.h"

namespace redraft::harness {

struct CaptureOptions {
  std::size_t bufferBytes = std::size_t{1} << 20;  // of one buffer of records; CUPTI keeps one a thread
  std::size_t buffers = 32;                        // zeroed before the capture begins
  std::size_t originSlots = std::size_t{1} << 20;  // a power of two: calls between a call and the parsing of its work
  std::size_t resources = 16384;                   // contexts, streams and modules made, and functions looked up
  // At least so long between two flushes that steps ask for; the longer where most buffers are free: CUPTI gives a full
  // buffer back by itself, and holds up launches while it is flushed.
  std::int64_t flushIntervalNs = 1'000'000'000, spareFlushIntervalNs = 10'000'000'000;
  // CUPTI's own buffers of device times in pinned host memory, not on the device. Of contexts that are made afterwards.
  bool pinnedDeviceBuffers = false;
};

/// Of a capture, to be left out where it is asked what each costs (bench/capture_bench.cc). A trace that lacks any does
/// not pass the audit's gate.
enum class CapturePart : std::uint8_t {
  kKernels,
  kCopies,       // and sets
  kWaits,        // of the host, and of streams for events
  kEvents,       // recordings
  kAllocations,  // of the driver's
  kOverheads,    // CUPTI's own
  kCalls,        // of the runtime and the driver
  kCallbacks,    // which give work its role
};
constexpr int kCaptureParts = static_cast<int>(CapturePart::kCallbacks) + 1;

/// What the capture itself took. Times in nanoseconds.
struct CaptureCost {
  std::int64_t callbacks = 0, callbackNs = 0;  // on the threads of the program; measured on every 64th
  std::int64_t flushes = 0, flushNs = 0;       // on the capture's own thread
  std::int64_t buffers = 0, parseNs = 0;       // on the capture's own thread
  std::int64_t bytes = 0, records = 0;         // of CUPTI's buffers
  std::int64_t extraBuffers = 0;               // allocated while capturing, because the pool was empty
  std::int64_t lostOrigins = 0;                // calls whose role was overwritten before they were parsed
  std::int64_t nestedCalls = 0;                // calls of the driver by the runtime, left out
  std::int64_t untracedCalls = 0;  // callback ids that this CUPTI does not know; G4 finds work of such a call
};

/// One line for people.
std::string costText(const CaptureCost& cost);

enum class StopMode {
  kWaitForDevices,  // all work that was issued is in the trace
  kAtOnce           // of a run that failed: what has not ended by now has no times (the audit's G2)
};

/// What a capture did to be seen by its own audit (gate G7).
struct CanaryPlan {
  std::int64_t thread = -1;          // all of it was done on this thread
  std::vector<std::string> planted;  // as in CaptureInfo::canaries
  std::string missing;               // why not all were, or ""
};

/// A running capture. Every thread may call.
class DeviceCapture {
 public:
  virtual ~DeviceCapture() = default;

  /// What is declared there is in the trace. A stream that CUPTI does not know counts as a lost record.
  virtual devices::Declarations& declarations() = 0;
  /// Makes a context of its own on device 0, copies on its null stream, and where a second device can be reached
  /// directly, copies between two such contexts; then destroys them. Takes some tenths of a second.
  virtual CanaryPlan plantCanaries() = 0;

  /// Asks for the records of a step that has ended, where the last time was long enough ago: CUPTI holds up launches
  /// meanwhile. Returns at once: the capture's own thread fetches them, and only those that are complete.
  virtual void flush(std::int64_t step) = 0;

  /// Nothing is recorded until resume(): contexts and modules made meanwhile are not in the trace either.
  virtual bool pause(std::string& error) = 0;
  virtual bool resume(std::string& error) = 0;
  /// From the next resume() on: all but these is recorded. While paused.
  virtual void leaveOut(const std::set<CapturePart>& parts) = 0;

  /// Ends the capture. What CUPTI refused meanwhile counts as one lost record each, so that the audit calls the trace
  /// incomplete. A second call gives an empty trace.
  virtual Trace stop(StopMode mode) = 0;

  virtual CaptureCost cost() const = 0;
};

/// What the library takes from the program: it holds no copy of this state.
struct CaptureHost {
  devices::Origin (*currentOrigin)() = nullptr;
  std::string (*roleName)(devices::RoleId) = nullptr;
};

/// Why a capture could not begin.
struct CaptureRefusal {
  std::string place, message, remedy;
};

/// Exported by the library as "redraftStartCapture". Null, with the reason in `refusal`.
using StartCapture = DeviceCapture* (*)(const CaptureHost& host, const CaptureOptions& options,
                                        CaptureRefusal& refusal);
inline constexpr const char* kStartCapture = "redraftStartCapture";

/// Exported as "redraftCuptiVersion": CUPTI's own number, 130001; 0 with the reason.
using CuptiVersion = std::uint32_t (*)(CaptureRefusal& refusal);
inline constexpr const char* kCuptiVersion = "redraftCuptiVersion";

}  // namespace redraft::harness
