#pragma once
// One block of a bench: a run in a folder of its own.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/bench/bench_records.h"
#include "harness/bench/clock_sampler.h"
#include "harness/case_plan.h"
#include "harness/supervisor.h"

namespace redraft::harness {

struct BlockRun {
  BenchBlock block;
  std::map<std::string, std::string> performanceClass;
  std::string problem;       // why it is no measure; "": it is one
  bool interrupted = false;  // by a signal to this program
};

struct BlockOptions {
  std::string runner;
  int warmup = 0;  // steps in which clocks are not sampled
  bool capture = true;
};

/// What makes a run wait for another's turn (harness/turns.h).
struct BlockTurns {
  int runnerFd = -1;
  std::function<bool()> held;  // it waits now
};

/// A block whose steps may begin when `turns` say so. Clocks are the caller's matter. Throws as runBlock() does.
Observation superviseInTurns(const CasePlan& plan, const std::string& folder, const BlockOptions& options,
                             const BlockTurns& turns);
/// The block that the run in `folder` was.
BlockRun blockOf(const CasePlan& plan, const std::string& folder, const Observation& seen,
                 const std::vector<devices::GpuClock>& clocks);

/// Verdicts, findings and goldens are no matter: a run that completes is a measure. Throws Error(kEnvironment) as
/// supervise() does.
BlockRun runBlock(const CasePlan& plan, const std::string& folder, const BlockOptions& options, ClockSampler& clocks);

}  // namespace redraft::harness
