#pragma once
// How far the rounding of a scenario's runs goes: from the shapes of its models and what they are computed in.

#include <optional>
#include <string>

#include "golden/tolerance.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

/// On the backend that the scenario names. `folder`: what its paths are relative to (a run folder), or "". nullopt for
/// a workload that trains nothing, and where the target's config cannot be read.
std::optional<golden::Arithmetic> arithmeticOf(const Scenario& scenario, const std::string& folder);

/// What has to be moved for a golden's responses (golden/tolerance.h): attention too where some backend computes it in
/// bfloat16, and the rest in float32.
std::vector<std::string> perturbedUnits(const Scenario& scenario);

}  // namespace redraft::scenarios
