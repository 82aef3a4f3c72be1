#pragma once
// The affinity contract of a scenario: its topology's, with what its key `contract` changes.

#include <string>

#include "harness/affinity/contract.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

/// `contract` of a scenario merges over the topology's as files merge (docs/formats.md, "Contract"); `place` stands
/// before its keys in errors. A role is a worker ("drafter[1]") or all of its kind ("drafter"). Throws
/// Error(kBadInput) for a role that the topology does not have and for what is no contract.
harness::Contract contractOf(const Scenario& scenario, const std::string& place);

}  // namespace redraft::scenarios
