#include "devices/sim/race_check.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace redraft::devices {
namespace {

/// Never the same for two roles, two threads, or a role and a thread.
std::uint64_t callingHost() {
  static std::atomic<std::uint64_t> threads{1};
  thread_local const std::uint64_t thread = threads.fetch_add(1, std::memory_order_relaxed) << 16;
  const RoleId role = currentOrigin().role;
  return role != 0 ? role : thread;
}

std::string describe(const RaceSide& side) {
  std::string text = side.work + (side.written ? " writes \"" : " reads \"") + side.range + "\" on stream " +
                     std::to_string(shownId(side.stream)) + " (device " + std::to_string(side.device);
  if (side.origin.role != 0) text += ", " + roleName(side.origin.role);
  if (side.origin.step >= 0) text += ", step " + std::to_string(side.origin.step);
  return text + ")";
}

}  // namespace

std::string Race::describe() const {
  return devices::describe(later) + ", and no event or synchronisation orders it after " + devices::describe(earlier);
}

std::size_t RaceCheck::addStream(std::uint64_t stream, std::uint64_t context, int device) {
  const std::lock_guard lock(mutex_);
  streams_.push_back({stream, context, device, {}});
  return streams_.size() - 1;
}

Clock& RaceCheck::host() {
  const auto [entry, appeared] = hosts_.try_emplace(callingHost());
  if (appeared) {
    for (const auto& [other, clock] : hosts_) joinClock(entry->second, clock);
  }
  return entry->second;
}

Clock& RaceCheck::issue(std::size_t stream) {
  Clock& clock = streams_[stream].clock;
  joinClock(clock, host());
  return clock;
}

Clock RaceCheck::record(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  return issue(stream);
}

void RaceCheck::wait(std::size_t stream, const Clock& event) {
  const std::lock_guard lock(mutex_);
  joinClock(issue(stream), event);
}

void RaceCheck::synchronized(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  joinClock(host(), streams_[stream].clock);
}

void RaceCheck::synchronized(const Clock& event) {
  const std::lock_guard lock(mutex_);
  joinClock(host(), event);
}

void RaceCheck::synchronizedContext(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  for (const StreamInfo& stream : streams_) {
    if (stream.context == context) joinClock(host(), stream.clock);
  }
}

void RaceCheck::publish(HostMark& mark) {
  const std::lock_guard lock(mutex_);
  joinClock(mark.done, host());
}

void RaceCheck::observe(const HostMark& mark) {
  const std::lock_guard lock(mutex_);
  joinClock(host(), mark.done);
}

std::vector<Race> RaceCheck::work(std::size_t stream, const std::string& name, std::span<const MemoryTouch> touches) {
  std::vector<Race> races;
  const Origin origin = currentOrigin();
  const std::lock_guard lock(mutex_);
  Clock& clock = issue(stream);
  if (clock.size() <= stream) clock.resize(stream + 1);
  const auto work = std::make_shared<const Work>(Work{name, stream, ++clock[stream], origin});
  for (const MemoryTouch& each : touches) {
    if (each.bytes > 0 && each.pointer != nullptr) touch(work, each, races);
  }
  return races;
}

void RaceCheck::touch(const std::shared_ptr<const Work>& work, const MemoryTouch& touch, std::vector<Race>& races) {
  const auto begin = reinterpret_cast<Address>(touch.pointer);
  const Address end = begin + touch.bytes;
  if (ranges_.size() >= kMaxRanges) ranges_.clear();
  split(begin, end);
  const Access access{work, touch.name ? touch.name : ""};
  bool reported = false;
  for (auto entry = ranges_.find(begin); entry != ranges_.end() && entry->first < end; ++entry) {
    Range& range = entry->second;
    const Access* earlier = conflict(range, work->stream, touch.written);
    if (earlier != nullptr && !reported) {
      races.push_back({side(*earlier, earlier == &range.write), side(access, touch.written), range.end - entry->first});
      reported = true;
    }
    if (touch.written) {
      range.write = access;
      range.reads.clear();
      continue;
    }
    const auto same = std::find_if(range.reads.begin(), range.reads.end(),
                                   [&](const Access& read) { return read.work->stream == work->stream; });
    if (same != range.reads.end()) {
      *same = access;
    } else {
      range.reads.push_back(access);
    }
  }
}

void RaceCheck::split(Address begin, Address end) {
  cut(begin);
  cut(end);
  Address at = begin;
  auto next = ranges_.lower_bound(begin);
  while (at < end) {
    const Address stop = next == ranges_.end() ? end : std::min(end, next->first);
    if (at < stop) ranges_.emplace_hint(next, at, Range{stop, {}, {}});
    if (next == ranges_.end() || next->first >= end) return;
    at = next->second.end;
    ++next;
  }
}

void RaceCheck::cut(Address at) {
  auto next = ranges_.lower_bound(at);
  if (next == ranges_.begin()) return;
  Range& former = std::prev(next)->second;
  if (former.end <= at) return;
  Range upper = former;
  former.end = at;
  ranges_.emplace_hint(next, at, std::move(upper));
}

const RaceCheck::Access* RaceCheck::conflict(const Range& range, std::size_t stream, bool written) const {
  if (range.write.work && !ordered(range.write, stream)) return &range.write;
  if (!written) return nullptr;
  const auto found =
      std::find_if(range.reads.begin(), range.reads.end(), [&](const Access& read) { return !ordered(read, stream); });
  return found == range.reads.end() ? nullptr : &*found;
}

bool RaceCheck::ordered(const Access& access, std::size_t stream) const {
  const Clock& clock = streams_[stream].clock;
  const std::size_t other = access.work->stream;
  return other == stream || (other < clock.size() && clock[other] >= access.work->epoch);
}

RaceSide RaceCheck::side(const Access& access, bool written) const {
  const StreamInfo& stream = streams_[access.work->stream];
  return {access.work->name, access.range, stream.id, stream.device, access.work->origin, written};
}

void RaceCheck::forget(Address begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  cut(begin);
  cut(begin + bytes);
  ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(begin + bytes));
}

}  // namespace redraft::devices
