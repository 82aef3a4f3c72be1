#pragma once
// The same verdict from what is stored: runs that were not run in turns. What moved the machine between them counts in
// full, and one run says nothing of it: the spread of repeated runs has to be known. docs/throughput.md.

#include <optional>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "golden/throughput.h"

namespace redraft::golden {

/// tokens/s of runs of one build, a number a run, in the order in which they were run.
using Rates = std::vector<double>;

struct StoredSide {
  std::optional<PerformanceClass> performanceClass;
  Rates rates;  // of a single run: one
};

struct StoredAnswer {
  ThroughputVerdict verdict = ThroughputVerdict::kAmbiguous;
  std::string reason;                 // why it is ambiguous
  std::optional<RatioInterval> time;  // B / A; nullopt: there is none
  int degrees = 0;                    // of freedom of the spread
  double spread = 0;                  // standard deviation of a run's logarithm
  /// Half the width of a paired bench's interval at the least number of pairs, from how far neighbours of the recorded
  /// runs are apart; nullopt where none were recorded. `time` has half the width `half`.
  std::optional<double> pairedHalf;
  double half = 0;
};

/// What a run says of all roles together: one rate.
StoredSide storedSide(const Record& run);
/// What a golden says: the rates of its repeated runs, or of the one.
StoredSide storedSide(const Golden& golden);

/// Student's t on the logarithms of the runs' rates, their variance pooled over A, B and `recorded`, the repeated runs
/// that the goldens of this machine hold. Assumes that those spread as A's and B's own would: the same machine, and
/// nothing that changed between A and B but the code.
StoredAnswer compareStored(const StoredSide& a, const StoredSide& b, const std::vector<Rates>& recorded, double margin,
                           double error);

/// Two or three lines for people.
std::string describe(const StoredAnswer& answer);

}  // namespace redraft::golden
