#pragma once
// A pair of blocks that run at once, by turns of a few steps: what the machine does to one it does to the other.

#include <string>
#include <vector>

#include "harness/bench/block_run.h"

namespace redraft::harness {

/// One of the two.
struct TurnSide {
  const CasePlan& plan;
  std::string folder;
  BlockOptions options;
};

struct TurnPlan {
  int warmup = 0;  // steps that both do before, at once
  int turn = 0;    // steps
  bool aFirst = true;
};

struct PairRun {
  BlockRun a, b;
};

/// Whole turns within `steps`: the last step is in none, because a run that is over writes its record, and that is not
/// the other's matter.
int turnsWithin(std::int64_t steps, int warmup, int turn);

/// The times of a block's steps by turns, without the first step of each, which waits for it and fills the queue.
/// Empty: it has not done one turn.
std::vector<std::vector<double>> secondsByTurn(const std::vector<double>& steps, int warmup, int turn);

/// Plans of one process. A run that fails ends the turns; the other one goes on to its end alone. Throws
/// Error(kEnvironment) as supervise() does.
PairRun runInTurns(const TurnSide& a, const TurnSide& b, const TurnPlan& turns, ClockSampler& clocks);

}  // namespace redraft::harness
