#pragma once
// One block of a bench: a run in a folder of its own.

#include <map>
#include <string>

#include "harness/bench/bench_records.h"
#include "harness/bench/clock_sampler.h"
#include "harness/case_plan.h"

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

/// Verdicts, findings and goldens are no matter: a run that completes is a measure. Throws Error(kEnvironment) as
/// supervise() does.
BlockRun runBlock(const CasePlan& plan, const std::string& folder, const BlockOptions& options, ClockSampler& clocks);

}  // namespace redraft::harness
