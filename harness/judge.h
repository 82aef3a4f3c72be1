#pragma once
// From what was seen and found to a verdict: a pure function. The rules: docs/formats.md, "Verdicts and exit codes".

#include <optional>
#include <string>
#include <vector>

#include "harness/evidence.h"
#include "reports/result.h"

namespace redraft::harness {

struct Judgement {
  reports::Verdict verdict = reports::Verdict::kError;
  std::string reason;  // why it is not PASSED, where no finding says so
};

struct JudgeInput {
  const Evidence& evidence;
  const std::vector<reports::Finding>& findings;
  std::string recordProblem;     // why metrics, digests or memory cannot be read; "": they are whole
  std::int64_t recordSteps = 0;  // in the metrics
  std::int64_t plannedSteps = 0;
  std::string auditProblem;  // why the audit of its trace says nothing; "": it does
  bool wantsGolden = false;
  std::string goldenProblem;  // why there is no comparison
};

Judgement judge(const JudgeInput& input);

/// The log is whole and says "completed", and the child ended as it says. Only then are the numbers those of the whole
/// scenario, and can be held against a golden.
bool completed(const Observation& seen);

/// The runner's exit codes for bad input (2), a missing environment (3) and a scenario that this machine cannot express
/// (4): it refused to run.
bool refusedToRun(const ChildEnd& end);

/// The event log cannot be read, and the child did not crash: the supervisor ended it for that, or it ended by itself.
bool brokeItsRecord(const Observation& seen);

}  // namespace redraft::harness
