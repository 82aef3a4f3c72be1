#pragma once
// The JSON form of goldens (redraft.golden/1), one line a value that a person would review.

#include <string>

#include "golden/golden.h"

namespace redraft::golden {

std::string numericsText(const Golden& golden);
std::string performanceText(const Golden& golden);

}  // namespace redraft::golden
