#pragma once
// Runs two builds, or two scenarios, in turns until the statistics decide (golden/throughput.h), and keeps the record.

#include <string>

#include "harness/bench/bench_records.h"
#include "harness/case_plan.h"

namespace redraft::harness {

struct BenchInput {
  BenchOptions options;
  BenchSide a, b;  // name, scenario and runner
  CasePlan planA, planB;
  bool capture = true;  // what CUDA devices do
  std::string out = "runs";
};

/// Each block is a run of its own in a child: what a process draws once (addresses, which core, which clock) varies
/// from block to block, as it does between the runs of a user. With turns, the two of a pair run at once (turn_pair.h;
/// plans of one process). The record, OUT/<stamp>-bench/bench.json, is written
/// after every pair; a run that fails ends the bench, and its folder stays. Throws Error(kEnvironment) when the lock of
/// `out` is held, no child can be started, or the disk refuses.
BenchReport bench(const BenchInput& input);

/// The pair as the statistics take it: its steps after the warm-up.
golden::BlockPair blockPairOf(const BenchPair& pair, const BenchOptions& options, bool perToken);

/// The HTML page of a record, finished or not. Pure.
std::string benchPage(const BenchReport& report);

/// The runner of a build: `path` is the program itself, `redraft` beside it, or a folder that holds it, in bin/ or
/// build/bin/ too. Throws Error(kBadInput) with the places that were looked at.
std::string runnerOfBuild(const std::string& path);

}  // namespace redraft::harness
