#include "harness/timing/host_waits.h"

#include <algorithm>
#include <string_view>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

/// Simulated devices have done their work when its call returns: waits for them take no time, and nothing comes of
/// them.
constexpr std::string_view kSimulated = "sim";

/// Leaves of waits that overlap the part of each that no earlier one covers.
void separate(std::vector<HostWait>& waits) {
  std::sort(waits.begin(), waits.end(), [](const HostWait& a, const HostWait& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::size_t kept = 0;
  for (HostWait wait : waits) {
    if (kept > 0) wait.begin = std::max(wait.begin, waits[kept - 1].end);
    if (kept == 0 || wait.begin < wait.end) waits[kept++] = wait;
  }
  waits.resize(kept);
}

}  // namespace

HostWaits::HostWaits(const TraceIndex& index) : index_(index) {
  collect();
  const auto& files = index.trace().files;
  for (const HostWait& wait : all_)
    if (files[wait.record->file].capture.source != kSimulated) byActor_[actorOf(*wait.record)].push_back(wait);
  for (auto& [actor, waits] : byActor_) separate(waits);
}

void HostWaits::collect() {
  const Trace& trace = index_.trace();
  const bool calls = index_.count(RecordKind::kApi) > 0;
  enum : char { kNotAsked, kNo, kYes };
  std::vector<char> waits(trace.strings.size(), kNotAsked);  // by name: there are few, and many calls
  const auto waitsByName = [&](StringId name) {
    if (waits[name] == kNotAsked) waits[name] = waitsForDevice(trace.text(name)) ? kYes : kNo;
    return waits[name] == kYes;
  };
  for (const TraceRecord& record : trace.records) {
    const TraceRecord* wait = nullptr;
    if (record.kind == RecordKind::kApi && waitsByName(record.name)) wait = &record;
    // A copy from or to pageable memory: also its "asynchronous" call waits.
    if (record.kind == RecordKind::kCopy && record.has(kPageable)) wait = index_.callOf(record);
    const bool ofHost = record.kind == RecordKind::kSync && trace.text(record.name).find("Wait") == std::string::npos;
    if (!calls && ofHost) wait = &record;
    const bool twice = wait != nullptr && wait != &record && waitsByName(wait->name);
    if (wait != nullptr && !twice)
      all_.push_back({wait->startNs, wait->startNs + std::max<std::int64_t>(wait->durationNs, 0), wait});
  }
}

HostWaits::Actor HostWaits::actorOf(const TraceRecord& call) const {
  const std::string& role = index_.roleOf(call);
  return role.empty() ? Actor{"", index_.processOf(call), call.thread} : Actor{role, 0, 0};
}

const std::vector<HostWait>& HostWaits::of(const TraceRecord& call) const {
  static const std::vector<HostWait> kNone;
  const auto found = byActor_.find(actorOf(call));
  return found == byActor_.end() ? kNone : found->second;
}

}  // namespace redraft::harness
