#pragma once
// One case from plan to result: lays the run folder, runs the child, compares, attributes, judges, writes result.json.

#include <optional>
#include <string>

#include "golden/run_files.h"
#include "harness/case_plan.h"
#include "harness/supervisor.h"
#include "reports/result.h"

namespace redraft::harness {

struct CaseOptions {
  SupervisorOptions supervisor;
  golden::EnvironmentReport environment;
  std::string goldens;                          // folder; "": none found
  std::optional<reports::Figures> scalingBase;  // of the case that the plan's scalingOf names, if it has run
};

/// A case that cannot be run (its data is missing) is an ERROR. Throws Error(kEnvironment) when this machine refuses:
/// no child, no disk.
reports::CaseResult runCase(const CasePlan& plan, const std::string& folder, const CaseOptions& options);

/// Judges what lies in a run folder, given how its child ended.
reports::CaseResult assessCase(const CasePlan& plan, const std::string& folder, Observation seen,
                               const CaseOptions& options);

/// Over everything that has to be equal when the run is run again; what a report keeps of a run's numbers.
std::string digestOf(const golden::Record& record);

/// A result with what the plan knows, ABORTED until it is run.
reports::CaseResult plannedResult(const CasePlan& plan, const std::string& folder);

/// The environment of a run on this machine; `variables` are the pinned ones.
golden::EnvironmentReport thisEnvironment(const Pinning& pinning);

}  // namespace redraft::harness
