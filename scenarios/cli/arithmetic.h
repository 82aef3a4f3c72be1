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

/// Units whose last place a golden's responses have to be measured by: float32, and bfloat16 where some backend rounds
/// to it in this scenario.
std::vector<std::string> perturbedUnits(const Scenario& scenario);

}  // namespace redraft::scenarios
