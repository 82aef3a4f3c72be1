#include "harness/timing/event_waits.h"

#include <algorithm>
#include <string>

#include "harness/timing/lanes.h"

namespace redraft::harness {
namespace {

template <class Entry>
void sortByIssue(std::vector<Entry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
}

/// The first entry that was put on its stream after `at`, or at that time.
template <class Entry>
auto firstFrom(const std::vector<Entry>& entries, std::int64_t at) {
  return std::lower_bound(entries.begin(), entries.end(), at,
                          [](const Entry& entry, std::int64_t time) { return entry.at < time; });
}

}  // namespace

EventWaits::EventWaits(const TraceIndex& index) : index_(index) {
  index.each(RecordKind::kSync, [&](const TraceRecord& record) {
    if (index.trace().text(record.name).find("Wait") != std::string::npos)
      waits_[keyOf(record)].push_back({issuedAt(record), record.link});
  });
  if (waits_.empty()) return;
  for (auto& [stream, waits] : waits_) sortByIssue(waits);
  index.each(RecordKind::kEvent, [&](const TraceRecord& record) {
    if (record.link >= 0)
      recordings_.try_emplace({index.processOf(record), record.link}, Recording{keyOf(record), issuedAt(record)});
  });
  collectWork();
}

std::int64_t EventWaits::issuedAt(const TraceRecord& record) const {
  const TraceRecord* call = index_.callOf(record);
  return call != nullptr ? call->startNs : record.startNs;
}

void EventWaits::collectWork() {
  index_.eachWork([&](const TraceRecord& work) { work_[keyOf(work)].push_back({issuedAt(work), &work}); });
  for (auto& [stream, entries] : work_) {
    sortByIssue(entries);
    for (std::size_t i = 1; i < entries.size(); ++i)
      if (endOf(*entries[i].work) < endOf(*entries[i - 1].work)) entries[i].work = entries[i - 1].work;
  }
}

AwaitedEvent EventWaits::awaited(const Wait& wait, std::int64_t process) const {
  const auto recording = recordings_.find({process, wait.link});
  if (wait.link < 0 || recording == recordings_.end()) return {};
  const auto stream = work_.find(recording->second.stream);
  if (stream == work_.end()) return {recording->second.at, nullptr};  // nothing was there to wait for
  const auto next = firstFrom(stream->second, recording->second.at);
  if (next == stream->second.begin()) return {recording->second.at, nullptr};
  const TraceRecord* newest = std::prev(next)->work;
  return {endOf(*newest), newest};
}

std::optional<AwaitedEvent> EventWaits::before(const TraceRecord& work, const TraceRecord& call) const {
  const StreamKey key = keyOf(work);
  const auto waits = waits_.find(key);
  if (waits == waits_.end()) return std::nullopt;
  const std::vector<Issued>& issued = work_.at(key);
  const auto own = firstFrom(issued, call.startNs);
  const auto first = own == issued.begin() ? waits->second.begin() : firstFrom(waits->second, std::prev(own)->at);
  std::optional<AwaitedEvent> last;
  for (auto wait = first; wait != waits->second.end() && wait->at <= call.startNs; ++wait) {
    const AwaitedEvent event = awaited(*wait, index_.processOf(work));
    if (!last || (event.completedNs && (!last->completedNs || *event.completedNs > *last->completedNs))) last = event;
  }
  return last;
}

}  // namespace redraft::harness
