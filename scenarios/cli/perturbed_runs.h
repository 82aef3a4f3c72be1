#pragma once
// Runs a scenario again with numbers moved by as much as rounding moves them, and measures how its own answer.

#include <functional>
#include <string>

#include "golden/golden.h"
#include "harness/case_runner.h"
#include "scenarios/cli/bless_runs.h"

namespace redraft::scenarios {

/// `seeds` runs a unit (perturbedUnits), one after the other, in folders below the run's that are removed afterwards.
/// `print` hears a line a unit. Throws Error(kBadInput) when a perturbed run does not pass, or is of another class.
golden::Responses measureResponses(const BlessableRun& run, int seeds, const harness::CaseOptions& options,
                                   const std::function<void(const std::string&)>& print);

}  // namespace redraft::scenarios
