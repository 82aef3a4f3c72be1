#pragma once
// The cells of `redraft drift`: a build of redraft run in an environment, or a record from before.

#include <string>
#include <vector>

#include "golden/drift.h"

namespace redraft::scenarios {

/// What redraft pins, as far as a run can be told to be in it.
struct DriftEnvironment {
  std::string name;      // for people
  std::string isa;       // "": as the scenario says
  std::string threads;   // likewise
  std::string libtorch;  // another LibTorch's folder, put before the build's own; "": its own
  std::string problem;   // why it cannot be re-established; "": it can
  bool operator==(const DriftEnvironment&) const = default;
};

/// Throws Error(kBadInput) naming the option where a build has no program: before anything is run.
void requireProgram(const std::string& option, const std::string& build);

/// "isa=default,threads=2,libtorch=/opt/torch", "" for the scenario's own, or the folder or environment.json of a run,
/// whose pinned variables say which it was. Throws Error(kBadInput) for a text that is neither.
DriftEnvironment readDriftEnvironment(const std::string& text);

struct DriftPlan {
  std::vector<std::string> run;  // scenario, and options of `redraft run`
  std::string out;               // folder for the runs
  int repeats = 2;               // of each cell
  double seconds = 1800;         // most that one run may take
};

/// `build`: a program, or a folder with bin/redraft or build/bin/redraft (requireProgram). Never throws for what the
/// build does: the cell says what was missing. `tag` names its folder.
golden::DriftCell runCell(const std::string& build, const DriftEnvironment& environment, const std::string& tag,
                          const DriftPlan& plan);

/// A run folder or a golden in place of a cell's runs.
golden::DriftCell storedCell(const std::string& path, const std::string& code, const DriftEnvironment& environment);

}  // namespace redraft::scenarios
