#pragma once
// The centre of values that lie symmetrically about it, by Wilcoxon's signed ranks ("Individual Comparisons by Ranking
// Methods", 1945), with the interval that Hodges and Lehmann ("Estimates of Location Based on Rank Tests", 1963) read
// off the same ranks. Exact for any number of values and any symmetric distribution; a few outliers do not move it.

#include <vector>

namespace redraft::golden {

struct CentreInterval {
  double centre = 0;         // the median of the means of all two values, each with itself too
  double low = 0, high = 0;  // infinite where there are too few values for the error asked for
};

/// Misses the centre with a probability of at most `error`, in (0, 1), half of it on each side. `values`: at least one,
/// finite.
CentreInterval centreOf(const std::vector<double>& values, double error);

/// Of `count` values: the largest k for which fewer than k of the pairs' means lie above the centre with a probability
/// of at most `tail`; 0 where even k = 1 is more probable.
int signedRankCut(int count, double tail);

/// How many values the interval needs to be finite: 2 · 2⁻ⁿ ≤ error.
int fewestValues(double error);

}  // namespace redraft::golden
