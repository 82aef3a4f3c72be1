#include "harness/timing/idle_causes.h"

#include <algorithm>

#include "harness/affinity/checks.h"

namespace redraft::harness {

void IdleCauses::split(std::int64_t begin, std::int64_t end, const TraceRecord& next, const Use& use) const {
  const Use nonEmpty = [&use](std::int64_t from, std::int64_t to, TimePart part, const std::string& name) {
    if (from < to) use(from, to, part, name);
  };
  const TraceRecord* call = index_.callOf(next);
  if (call == nullptr) return nonEmpty(begin, end, TimePart::kUnknown, "the trace has no call that launched it");
  const std::int64_t launched = std::clamp(call->startNs, begin, end);
  beforeLaunch(begin, launched, *call, nonEmpty);
  afterLaunch(launched, end, next, *call, nonEmpty);
}

void IdleCauses::beforeLaunch(std::int64_t begin, std::int64_t end, const TraceRecord& call, const Use& use) const {
  TimePart part = TimePart::kLateLaunch;
  std::string name;
  std::int64_t at = begin;
  const std::vector<HostWait>& waits = hostWaits_.of(call);
  auto wait =
      std::partition_point(waits.begin(), waits.end(), [begin](const HostWait& each) { return each.end <= begin; });
  for (; wait != waits.end() && wait->begin < end; ++wait) {
    const std::int64_t entered = std::max(at, wait->begin), left = std::min(wait->end, end);
    use(at, entered, part, name);
    name = index_.trace().text(wait->record->name);
    use(entered, left, TimePart::kHostSync, name);
    part = TimePart::kAfterSync;
    at = left;
  }
  use(at, end, part, name);
}

void IdleCauses::afterLaunch(std::int64_t begin, std::int64_t end, const TraceRecord& next, const TraceRecord& call,
                             const Use& use) const {
  const auto latencyEnd = [&](std::int64_t from) {
    return std::min(end, std::max(from, call.endNs()) + kLaunchLatencyNs);
  };
  if (const auto event = eventWaits_.before(next, call)) {
    // An event that the trace does not hold explains what launching does not.
    const std::int64_t known = latencyEnd(begin) < end ? end : begin;
    const std::int64_t until = std::clamp(event->completedNs.value_or(known), begin, end);
    use(begin, until, TimePart::kEventWait, awaitedName(*event, next));
    begin = until;
  }
  const std::int64_t started = latencyEnd(begin);
  use(begin, started, TimePart::kLaunchLatency, "");
  use(started, end, TimePart::kUnknown, "launched, and began late");
}

std::string IdleCauses::awaitedName(const AwaitedEvent& event, const TraceRecord& next) const {
  if (event.work == nullptr) return "an event that the trace does not hold";
  const std::string& role = index_.roleOf(*event.work);
  const std::string where = event.work->device == next.device ? "" : " on " + deviceText(event.work->device);
  return (role.empty() ? "work" : role) + where;
}

}  // namespace redraft::harness
