#pragma once

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace redraft::golden {

/// Of an even number the upper one of the middle two. At least one value.
inline double medianOf(std::vector<double> values) {
  REDRAFT_CHECK(!values.empty(), "a median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace redraft::golden
