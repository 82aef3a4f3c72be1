#pragma once
// Finds the commit that broke a scenario or made it slow: `git bisect run` in a clone of its own, each commit judged by
// a sequential test, so that runs may mislead. docs/ci.md, "Bisecting".

#include <string>

#include "harness/bisect/bisect_records.h"

namespace redraft::harness {

/// Exit codes of a step, as `git bisect run` reads them.
inline constexpr int kStepGood = 0, kStepBad = 1, kStepSkip = 125, kStepAbort = 130;

/// `plan` holds what the user chose, good and bad as revisions. Leaves a folder in `out`: plan.json, commits.jsonl, the
/// logs and runs of every commit, bisect.json. `self` is this program, which git calls for each commit
/// (`bisect-step FOLDER`). The repository is only read. Throws Error(kBadInput) when the revisions are none; what else
/// stands in the way is BisectReport::problem.
BisectReport bisect(BisectPlan plan, const std::string& repository, const std::string& out, const std::string& self);

/// Judges what git has checked out, and adds it to the record. Returns the code for `git bisect run`.
int bisectStep(const std::string& folder);

/// The table of what was judged, the error rates, and the culprit.
std::string describe(const BisectReport& report);

}  // namespace redraft::harness
