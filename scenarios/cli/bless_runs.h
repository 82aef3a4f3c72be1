#pragma once
// Which runs can become goldens, and where goldens come from.

#include <map>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "golden/orphans.h"
#include "harness/case_plan.h"
#include "scenarios/cli/common.h"
#include "scenarios/spec/store.h"

namespace redraft::scenarios {

/// A run that is clean but for its golden.
struct BlessableRun {
  std::string folder;
  harness::CasePlan plan;
  golden::Record record;
};

/// Of a run folder that one run; of a suite's folder every run of it whose golden is new or differs. Throws
/// Error(kBadInput) when there is none, or the run cannot be a golden.
std::vector<BlessableRun> blessableRuns(const std::string& runOrSuite);

/// Of a golden that is made of this run, now. Commit and version are those that the run was made with.
golden::Provenance provenanceOf(const BlessableRun& run, const std::string& reason);

/// What is compared with each golden, by the golden's name.
std::map<std::string, golden::GoldenUser> goldenUsers(const std::vector<StoredScenario>& scenarios);

/// Before a suite runs: a golden of no scenario, or with values that no selected one has, is no baseline. Only goldens
/// that go with these scenarios are looked at: those beside their folder, and those that were named. Throws
/// Error(kBadInput) with the remedy.
void refuseOrphans(const Places& places, const std::vector<StoredScenario>& all, const std::vector<Scenario>& selected);

/// "of commit 2555668f57bf, 2026-11-29: \"First baseline\"; 34 commits up to the run's", and which commit edited the
/// file last where git knows. Never throws for want of git.
std::string standingOf(const std::string& file, const golden::Provenance& provenance, const std::string& runCommit);

}  // namespace redraft::scenarios
