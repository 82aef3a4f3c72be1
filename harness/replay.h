#pragma once
// Runs a recorded run again, from its folder alone, and says whether the same came back.

#include <optional>
#include <string>

#include "harness/case_runner.h"
#include "reports/result.h"

namespace redraft::harness {

struct ReplayResult {
  std::optional<reports::CaseResult> before;  // absent: the recorded run has no result (its harness was killed)
  reports::CaseResult now;
  bool same = false;
  std::string text;  // what came back, or how it differs: a few lines
};

/// `plan` was read from `recorded`. The new run is a suite of one case in OUT, with its record and reports.
ReplayResult replayRun(const CasePlan& plan, const std::string& recorded, const std::string& out, CaseOptions options);

/// The same: verdict and first signature equal; where nothing was found, every number equal bit for bit too.
ReplayResult compareReplay(std::optional<reports::CaseResult> before, reports::CaseResult now);

}  // namespace redraft::harness
