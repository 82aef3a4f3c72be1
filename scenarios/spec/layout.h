#pragma once
// A topology file (`redraft.topology/1`): keys of a scenario's topology, for running scenarios as they are on another
// machine. What it does not say stays as each scenario has it.

#include <string>
#include <vector>

#include "base/json.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

struct Layout {
  std::string path;
  Json topology;  // a merge patch (RFC 7386) of a scenario's
};

/// Throws Error(kBadInput) with file, line and key where a key is not a topology's, or a value out of its range.
Layout loadLayout(const std::string& path);

/// Lays the scenarios out. Throws Error(kBadInput) naming file and scenario where they do not go together.
void layOut(const Layout& layout, std::vector<Scenario>& scenarios);

}  // namespace redraft::scenarios
