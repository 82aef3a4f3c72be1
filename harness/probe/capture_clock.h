#pragma once
// The clock of a captured run: CLOCK_MONOTONIC, which is std::chrono::steady_clock's too, so that records, the
// program's own marks and events share it. CUPTI's default is the wall clock, which is set while a run lasts.

#include <cstdint>
#include <ctime>

namespace redraft::harness {

inline std::int64_t captureClockNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace redraft::harness
