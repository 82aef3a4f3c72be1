#pragma once
// From evidence to findings: pure functions. Each detector is a row in detectors/detectors.h and a function in a file
// of its own; it sees the evidence and what the rows before it found, and never the scenario.

#include <string>
#include <vector>

#include "harness/evidence.h"
#include "reports/result.h"

namespace redraft::harness {

/// The cause first: rows are in order of how specific they are.
std::vector<reports::Finding> attribute(const Evidence& evidence);

/// "<id>|<failure kind>|<role>|<step>|<phase>|<status>".
std::string signature(const reports::Finding& finding, const std::string& failureKind, int status);

}  // namespace redraft::harness
