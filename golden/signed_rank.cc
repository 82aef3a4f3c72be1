#include "golden/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace redraft::golden {
namespace {

/// P(T = t) of the sum T of the ranks 1 … count that a fair coin each picks.
std::vector<double> rankSumProbabilities(int count) {
  std::vector<double> probability(static_cast<std::size_t>(count) * (count + 1) / 2 + 1, 0.0);
  probability[0] = 1;
  std::size_t largest = 0;
  for (int rank = 1; rank <= count; ++rank) {
    const auto step = static_cast<std::size_t>(rank);
    largest += step;
    for (std::size_t sum = largest + 1; sum-- > 0;)
      probability[sum] = (probability[sum] + (sum >= step ? probability[sum - step] : 0)) / 2;
  }
  return probability;
}

/// The k-th smallest, from 1.
double nth(std::vector<double>& values, std::size_t k) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

int signedRankCut(int count, double tail) {
  const std::vector<double> probability = rankSumProbabilities(count);
  double below = 0;  // P(T < k)
  int k = 0;
  while (static_cast<std::size_t>(k) < probability.size() / 2 && below + probability[k] <= tail)
    below += probability[k++];
  return k;
}

CentreInterval centreOf(const std::vector<double>& values, double error) {
  REDRAFT_CHECK(!values.empty() && error > 0 && error < 1, "values and an error");
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  const std::size_t total = means.size();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  CentreInterval interval{0, -kInfinite, kInfinite};
  interval.centre = (nth(means, (total + 1) / 2) + nth(means, total / 2 + 1)) / 2;
  const int cut = signedRankCut(static_cast<int>(values.size()), error / 2);
  if (cut == 0) return interval;
  interval.low = nth(means, static_cast<std::size_t>(cut));
  interval.high = nth(means, total + 1 - static_cast<std::size_t>(cut));
  return interval;
}

int fewestValues(double error) { return static_cast<int>(std::ceil(1 - std::log2(error))); }

}  // namespace redraft::golden
