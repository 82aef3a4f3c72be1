#include "harness/timing/host_ranges.h"

#include <algorithm>
#include <string>

namespace redraft::harness {

HostRanges::HostRanges(const TraceIndex& index) {
  if (index.hasRoles()) return;
  std::map<Thread, std::vector<Range>> ranges;
  index.each(RecordKind::kAnnotation, [&](const TraceRecord& range) {
    if (!index.trace().text(range.name).starts_with("ProfilerStep#") && range.durationNs > 0)
      ranges[{range.file, range.thread}].push_back({range.startNs, range.endNs(), range.name});
  });
  for (auto& [thread, of] : ranges) changes_[thread] = innermost(std::move(of));
}

std::vector<HostRanges::Change> HostRanges::innermost(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end > b.end : a.name < b.name;
  });
  std::vector<Change> changes;
  std::vector<Range> open;
  const auto closeUntil = [&](std::int64_t time) {
    while (!open.empty() && open.back().end <= time) {
      const std::int64_t end = open.back().end;
      open.pop_back();
      changes.push_back({end, open.empty() ? 0 : open.back().name});
    }
  };
  for (const Range& range : ranges) {
    closeUntil(range.begin);
    open.push_back(range);
    changes.push_back({range.begin, range.name});
  }
  while (!open.empty()) closeUntil(open.back().end);
  // Ranges that overlap without nesting close in another order than they end in.
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

StringId HostRanges::at(const TraceRecord& call) const {
  const auto changes = changes_.find({call.file, call.thread});
  if (changes == changes_.end()) return 0;
  const auto next = std::upper_bound(changes->second.begin(), changes->second.end(), call.startNs,
                                     [](std::int64_t time, const Change& change) { return time < change.at; });
  return next == changes->second.begin() ? 0 : std::prev(next)->name;
}

}  // namespace redraft::harness
