#pragma once
// Why a device did nothing before a piece of work.

#include <cstdint>
#include <functional>
#include <string>

#include "harness/timing/event_waits.h"
#include "harness/timing/host_waits.h"
#include "harness/timing/time_split.h"

namespace redraft::harness {

/// Work that was launched in time, and whose stream was free, begins within this from the end of its call, or from when
/// the device went idle. A launch takes 3 to 10 µs; what is beyond this has a cause that the trace does not show.
inline constexpr std::int64_t kLaunchLatencyNs = 20'000;

class IdleCauses {
 public:
  /// The index outlives this.
  explicit IdleCauses(const TraceIndex& index) : index_(index), hostWaits_(index), eventWaits_(index) {}

  /// Part of a gap, and what was waited for: a call, or whose work; "" where there is nothing to name.
  using Use = std::function<void(std::int64_t begin, std::int64_t end, TimePart part, const std::string& name)>;

  /// Cuts [begin, end), in which a device did nothing until `next` began, into parts: in order, none empty, nothing
  /// left out.
  void split(std::int64_t begin, std::int64_t end, const TraceRecord& next, const Use& use) const;

  const HostWaits& hostWaits() const { return hostWaits_; }

 private:
  void beforeLaunch(std::int64_t begin, std::int64_t end, const TraceRecord& call, const Use& use) const;
  void afterLaunch(std::int64_t begin, std::int64_t end, const TraceRecord& next, const TraceRecord& call,
                   const Use& use) const;
  std::string awaitedName(const AwaitedEvent& event, const TraceRecord& next) const;

  const TraceIndex& index_;
  HostWaits hostWaits_;
  EventWaits eventWaits_;
};

}  // namespace redraft::harness
