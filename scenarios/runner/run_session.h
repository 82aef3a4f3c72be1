#pragma once
// One run of one scenario in this process, which it uses up: it registers the simulated backend.

#include <cstdint>
#include <optional>
#include <string>

#include "base/launch_environment.h"
#include "golden/run_files.h"
#include "scenarios/runner/op_digests.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

struct RunOptions {
  std::string folder;   // a run folder with scenario.resolved.json; all files go there
  bool resume = false;  // go on from its newest whole checkpoint
  bool capture = true;  // on CUDA devices, leave their trace (harness/probe); simulated ones always do
  std::optional<StepRange> opDigests = {};     // steps of which every operation's digests are kept
  std::optional<std::int64_t> stopAfter = {};  // the run ends when this step is done, without evaluation
  std::optional<int> turns = {};               // the descriptor of a harness that gives turns (harness/turns.h)
  LaunchEnvironment launch = {};

  /// Where this process keeps its events, its trace and its memory.
  std::string ownFolder() const { return golden::rankFolder(folder, launch.rank); }
};

/// Exit code: 0 completed, 1 failed (events.jsonl says why). Throws Error(kBadInput) for a folder that cannot be run,
/// or that was run already, before anything is written.
int runScenario(const Scenario& scenario, const RunOptions& options);

}  // namespace redraft::scenarios
