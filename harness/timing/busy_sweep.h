#pragma once
// One pass over a device's work in the order of time.

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "harness/timing/time_split.h"

namespace redraft::harness {

/// A piece of work of a lane. `group` is its owner's number.
struct TimedWork {
  std::int64_t begin = 0, end = 0;
  TimePart part = TimePart::kCompute;  // a busy one
  std::uint32_t group = 0;
};

/// Of more work at once than this (no device runs as much), the later work shares nothing.
inline constexpr std::size_t kMaxShared = 64;

struct SweepUses {
  /// [begin, end) belongs to work of one part, which share it: the groups of those, in the order in which they began.
  std::function<void(std::int64_t begin, std::int64_t end, TimePart part, std::span<const std::uint32_t> groups)> busy;
  /// Nothing ran in [begin, end), until the work of this number began.
  std::function<void(std::int64_t begin, std::int64_t end, std::size_t next)> idle;
};

/// Goes from the first begin to the last end, without a hole: of what runs at once, compute comes before communication,
/// and that before copies. `work` is by begin. O(n log n).
class BusySweep {
 public:
  BusySweep(std::span<const TimedWork> work, const SweepUses& uses) : work_(work), uses_(uses) {}
  void run();

 private:
  using End = std::pair<std::int64_t, std::uint32_t>;  // when work ends, and its number

  void start(std::uint32_t number);
  void finishUntil(std::int64_t time);
  void advance(std::int64_t to);
  bool running() const { return !ends_.empty(); }

  std::span<const TimedWork> work_;
  const SweepUses& uses_;
  std::int64_t now_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::array<std::set<std::uint32_t>, 3> active_;  // numbers of what runs, by part
  std::vector<std::uint32_t> sharing_;
};

}  // namespace redraft::harness
