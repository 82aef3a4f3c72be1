#pragma once
// An order between host threads that no call of a driver shows: a queue, a barrier. What the giver knows to be done on
// the devices travels beside what it hands on, and whoever takes it knows it too. Filled and read by the simulator's
// race check (devices/sim/race_check.h); empty, and ignored, where nobody checks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redraft::devices {

/// A vector clock: by stream of one driver, the newest piece of its work; missing entries are 0.
using Clock = std::vector<std::uint64_t>;

inline void joinClock(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

struct HostMark {
  Clock done;
};

}  // namespace redraft::devices
