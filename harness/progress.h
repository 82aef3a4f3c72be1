#pragma once
// Live progress on standard error: on a terminal one line that is overwritten, elsewhere a plain line as each case
// ends.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "harness/case_plan.h"
#include "harness/supervisor.h"
#include "reports/result.h"

namespace redraft::harness {

/// Thread-safe.
class ProgressDisplay {
 public:
  ProgressDisplay(std::FILE* out, bool terminal, const std::vector<CasePlan>& plans);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void started(std::size_t index);
  void progressed(std::size_t index, const RunProgress& progress);
  void ended(std::size_t index, const reports::CaseResult& result);

  /// "[ 3/24] dual-drafter 5/12, single-drafter 2/12  3.1 Ktok/s  14 s left"
  std::string statusLine(double elapsedSeconds) const;

 private:
  void redraw();

  std::FILE* out_;
  bool terminal_;
  const std::vector<CasePlan>& plans_;
  mutable std::mutex mutex_;
  std::map<std::size_t, RunProgress> running_;
  std::size_t ended_ = 0;
  std::int64_t stepsEnded_ = 0, stepsInAll_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace redraft::harness
