#pragma once
// Runs planned cases, several at a time, and keeps their record.

#include <optional>
#include <string>
#include <vector>

#include "harness/case_runner.h"
#include "harness/suite_folder.h"
#include "harness/suite_record.h"
#include "reports/result.h"

namespace redraft::harness {

struct SuiteOptions {
  std::string out = "runs";
  int jobs = 1;
  bool keep = false;
  PruneLimits prune;
  std::vector<ReportFile> files;
  std::string knownFile;  // where `known` came from; "": none
  reports::KnownFailureList known;
  CaseOptions cases;
  bool terminal = false;  // standard error is one
};

/// What part of the plan a machine runs: cases i, i+n, i+2n … of the list, so that neighbours (a scenario and its twin,
/// which take about as long) go to different machines.
struct Shard {
  std::size_t index = 0, count = 1;
};
/// "2/3", 1-based. Throws Error(kBadInput).
Shard parseShard(const std::string& text);
std::vector<CasePlan> selectShard(const std::vector<CasePlan>& plans, const Shard& shard);

/// Every case has a result, ABORTED where the suite ended first. Throws Error(kEnvironment) when the lock is held, no
/// child can be started, or the disk refuses; the record then holds what ended before.
reports::SuiteResult runSuite(const std::vector<CasePlan>& plans, const SuiteOptions& options);

/// A suite whose cases have not ended yet; each has its run folder in `folder`.
reports::SuiteResult plannedSuite(const std::vector<CasePlan>& plans, const std::string& folder);

/// "2026-11-29T20:06:00Z".
std::string utcNow();

}  // namespace redraft::harness
