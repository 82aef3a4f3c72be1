#pragma once
// The devices of a trace, with the steps and the work of each.

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "harness/affinity/trace_index.h"

namespace redraft::harness {

/// From the first work of a step on a device to the first of the next step there; the last ends with its work.
struct StepWindow {
  std::int64_t step = -1;
  std::int64_t begin = 0, end = 0;
  std::int64_t length() const { return end - begin; }
};

/// Which step a record is of: TraceIndex::stepOf(), or where no record and no range names a step, as many as there are
/// optimiser's steps (torch's own `Optimizer.step#…` ranges) that ended before its call. -1: none.
class StepNumbers {
 public:
  /// The index outlives this.
  explicit StepNumbers(const TraceIndex& index);

  std::int64_t of(const TraceRecord& record) const;
  bool byOptimizer() const { return !optimizerEnds_.empty(); }

 private:
  const TraceIndex& index_;
  std::map<std::uint16_t, std::vector<std::int64_t>> optimizerEnds_;  // by file, sorted
};

/// A device of a process.
struct Lane {
  std::int64_t process = 0;
  std::int32_t device = -1;
  std::vector<const TraceRecord*> work;  // by begin; ties by what no order of the file's events changes
  std::vector<StepWindow> windows;       // one behind the other
};

/// By process and device. Where no work is of a step, a lane's work is one window, of step -1.
std::vector<Lane> lanesOf(const TraceIndex& index, const StepNumbers& steps);

/// Of times that may overlap without end; the greatest number where it is beyond that.
inline std::int64_t boundedSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// When device work ends, also where its duration is missing or negative.
inline std::int64_t endOf(const TraceRecord& work) { return work.durationNs > 0 ? work.endNs() : work.startNs; }

}  // namespace redraft::harness
