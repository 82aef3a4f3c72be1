#pragma once
// The two ends of a bisection: what being bad means is learnt there, and that the ends are as claimed is shown by the
// test that judges all commits.

#include <string>
#include <vector>

#include "harness/bisect/bisect_records.h"

namespace redraft::harness {

struct BisectEnds {
  std::string problem;                  // why there is nothing to bisect; "": there is
  std::vector<CommitEvidence> commits;  // good and bad, as far as it came
};

/// Sets the plan's failure, or its threshold and what it comes from.
BisectEnds learnEnds(BisectPlan& plan);

/// tokens/s of the runs that have any.
std::vector<double> ratesOf(const CommitEvidence& evidence);

}  // namespace redraft::harness
