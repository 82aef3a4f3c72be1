#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"

namespace redraft::golden {

/// A value that occurs: of an even number the upper one of the middle two. At least one value.
inline double medianOf(std::vector<double> values) {
  REDRAFT_CHECK(!values.empty(), "a median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Below which a part of the values lies (0 the smallest, 1 the largest), straight between the two nearest in rank: of
/// an even number the median is the mean of the middle two. At least one value.
inline double quantileOf(std::vector<double> values, double part) {
  REDRAFT_CHECK(!values.empty() && part >= 0 && part <= 1, "a quantile of nothing, or none");
  std::sort(values.begin(), values.end());
  const double at = part * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace redraft::golden
