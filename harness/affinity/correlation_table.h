#pragma once
// The calls of a trace by process and correlation: one look-up a record, where sorting would cost most of an audit.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redraft::harness {

/// Open addressing with linear probing; never removes.
class CorrelationTable {
 public:
  struct Entry {
    std::int64_t process = 0;
    std::int64_t correlation = -1;      // -1: nothing is here
    std::uint32_t first = 0, last = 0;  // numbers of the first and of the newest call
    bool hasWork = false;
  };

  CorrelationTable() : CorrelationTable(0) {}
  /// For at most `calls` different ones.
  explicit CorrelationTable(std::size_t calls)
      : slots_(std::bit_ceil(std::max<std::size_t>(16, 2 * calls))), shift_(64 - std::countr_zero(slots_.size())) {}

  /// The entry, or the free one where it belongs. `correlation` is not below 0.
  Entry& at(std::int64_t process, std::int64_t correlation) {
    std::size_t slot = slotOf(process, correlation);
    while (slots_[slot].correlation >= 0 &&
           (slots_[slot].correlation != correlation || slots_[slot].process != process))
      slot = (slot + 1) & (slots_.size() - 1);
    return slots_[slot];
  }
  const Entry& at(std::int64_t process, std::int64_t correlation) const {
    return const_cast<CorrelationTable*>(this)->at(process, correlation);
  }

 private:
  /// Fibonacci hashing: correlations are consecutive, and so are often processes.
  std::size_t slotOf(std::int64_t process, std::int64_t correlation) const {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
    const auto key = static_cast<std::uint64_t>(correlation) + std::rotl(static_cast<std::uint64_t>(process), 32);
    return static_cast<std::size_t>((key * kGolden) >> shift_);
  }

  std::vector<Entry> slots_;
  int shift_;
};

}  // namespace redraft::harness
