#pragma once
// Where the time of a device's steps went: every nanosecond of a step is of exactly one part. docs/attribution.md says
// what decides between parts.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/record.h"
#include "harness/trace/trace.h"

namespace redraft::harness {

inline constexpr const char* kAttributionSchema = "redraft.attribution/1";

/// In the order in which they are shown. The first three are what a device did, by precedence; the others, why it did
/// nothing.
enum class TimePart : std::uint8_t {
  kCompute,
  kCommunication,  // a collective's kernel, and no other
  kCopies,         // copies and sets, and no kernel
  kLateLaunch,     // the next work had not been launched
  kHostSync,       // nor could be: the thread that launched it sat in a call that waits for a device
  kAfterSync,      // from the end of such a call to the launch
  kEventWait,      // it had been launched, and its stream waited for an event
  kLaunchLatency,  // it had been launched, and was about to start
  kUnknown,        // the trace does not tell
};
inline constexpr std::size_t kTimeParts = static_cast<std::size_t>(TimePart::kUnknown) + 1;

/// Nanoseconds of each part.
using TimeParts = std::array<std::int64_t, kTimeParts>;

constexpr bool isBusy(TimePart part) { return part <= TimePart::kCopies; }
/// Idle because of what others do or did: it names the victim of a change rather than its cause.
constexpr bool isWaitForOthers(TimePart part) { return part == TimePart::kLateLaunch || part == TimePart::kEventWait; }
/// As texts show it.
const char* partTitle(TimePart part);

/// Part of a device's time with one explanation: kernels of one name and shape, or idle time of one cause.
struct TimeGroup {
  TimePart part = TimePart::kUnknown;
  std::string role, phase;  // of the work; of idle time: of the work that ended it
  std::string stream;       // "own" or "#2" of the role's streams on the device; of work only
  std::string name;         // of the kernel or copy; of idle time what was waited for
  std::string shape;        // grid and block; of a copy its bytes
  std::int64_t count = 0;   // of work that began in the steps
  std::int64_t busyNs = 0;  // its durations, also where it ran beside other work
  std::int64_t ns = 0;      // of the steps' time
  double spreadNs = 0;      // standard deviation of a step's `ns`; 0 of a single step
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("part", part);
    visit.unless("role", role, "");
    visit.unless("phase", phase, "");
    visit.unless("stream", stream, "");
    visit.unless("name", name, "");
    visit.unless("shape", shape, "");
    visit.unless("count", count, 0);
    visit.unless("busy_ns", busyNs, 0);
    visit("ns", ns);
    visit("spread_ns", spreadNs);
  }
};

/// One step of one device. `parts` add up to `wallNs`.
struct StepTime {
  std::int64_t step = -1;  // -1: the trace has no steps, and is one
  std::int64_t beginNs = 0, wallNs = 0;
  TimeParts parts{};
  template <class Visitor>
  void fields(Visitor& visit);
};

/// A device of a process. Groups of a part add up to the part, parts to `wallNs`, and `wallNs` is that of all steps.
struct DeviceSplit {
  std::int32_t device = -1;  // -1: the trace does not say
  std::string process;       // "rank 1"; "" where there is one process
  std::vector<std::string> roles;
  std::int64_t wallNs = 0;
  double spreadNs = 0;  // standard deviation of a step's time
  TimeParts parts{};
  std::vector<StepTime> steps;
  std::vector<TimeGroup> groups;  // the longest first
  std::int64_t stepCount() const { return static_cast<std::int64_t>(steps.size()); }
  template <class Visitor>
  void fields(Visitor& visit);
};

/// Calls of one role, or thread, that wait for a device.
struct HostWaitCount {
  std::string role, call;
  std::int64_t count = 0, ns = 0;  // in all the steps
  template <class Visitor>
  void fields(Visitor& visit) {
    visit.unless("role", role, "");
    visit("call", call);
    visit("count", count);
    visit("ns", ns);
  }
};

struct TimeSplit {
  std::vector<std::string> files;
  std::vector<std::int64_t> steps;    // of which the times are
  std::vector<std::int64_t> leftOut;  // others: those that warm up, and the last, whose end is not known
  std::vector<DeviceSplit> devices;
  std::vector<HostWaitCount> waits;
  std::vector<std::string> notes;  // what the trace lacks, and what that costs
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("files", files);
    visit("steps", steps);
    visit("left_out", leftOut);
    visit("devices", devices);
    visit("host_waits", waits);
    visit("notes", notes);
  }
};

struct SplitOptions {
  std::optional<std::int64_t> skip;  // first steps to leave out; absent: a quarter of them, at most four
};

/// Splits the steps of all devices. Throws Error(kBadInput) when the trace holds no device work, or `skip` leaves no
/// step.
TimeSplit splitTime(const Trace& trace, const SplitOptions& options = {});

/// For the console: parts, then the longest groups of each device, `top` of them.
std::string splitText(const TimeSplit& split, std::size_t top);

}  // namespace redraft::harness

namespace redraft {

template <>
struct NameTable<harness::TimePart> {
  static constexpr std::pair<harness::TimePart, const char*> kNames[] = {
      {harness::TimePart::kCompute, "compute"},      {harness::TimePart::kCommunication, "communication"},
      {harness::TimePart::kCopies, "copies"},        {harness::TimePart::kLateLaunch, "late_launch"},
      {harness::TimePart::kHostSync, "host_sync"},   {harness::TimePart::kAfterSync, "after_host_sync"},
      {harness::TimePart::kEventWait, "event_wait"}, {harness::TimePart::kLaunchLatency, "launch_latency"},
      {harness::TimePart::kUnknown, "unknown"}};
};

namespace harness {

/// A key a part.
std::map<std::string, std::int64_t> partsByName(const TimeParts& parts);

template <class Visitor>
void StepTime::fields(Visitor& visit) {
  std::map<std::string, std::int64_t> named = partsByName(parts);
  visit("step", step);
  visit("begin_ns", beginNs);
  visit("wall_ns", wallNs);
  visit("parts_ns", named);
}

template <class Visitor>
void DeviceSplit::fields(Visitor& visit) {
  std::map<std::string, std::int64_t> named = partsByName(parts);
  visit("device", device);
  visit.unless("process", process, "");
  visit("roles", roles);
  visit("wall_ns", wallNs);
  visit("spread_ns", spreadNs);
  visit("parts_ns", named);
  visit("steps", steps);
  visit("groups", groups);
}

}  // namespace harness
}  // namespace redraft
