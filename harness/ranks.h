#pragma once
// Several processes of one run, each with its own record: which one says why the run ended as it did. Pure.

#include <string>
#include <vector>

#include "harness/supervisor.h"

namespace redraft::harness {

/// All ranks of a run, rank 0 first.
std::vector<Observation> ranksOf(Observation seen);

/// The rank whose record is the run's: rank 0 when all completed. Where the run stood still: one that is suspended, or
/// has no mark yet, or a role that waits for nobody, the one furthest behind. Else the first that ended badly for a
/// reason of its own, rather than for another's (it blames one, or the supervisor ended it).
std::size_t decisiveRank(const std::vector<Observation>& ranks);

/// One line on how a rank ended, or where it stood: "rank 1: at drafter[1]: collective_enter 3 in step 3, …".
std::string rankLine(const Observation& seen);

}  // namespace redraft::harness
