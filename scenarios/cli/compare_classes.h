#pragma once
// Two records of different numerics classes, by what goldens know of how their numbers answer to rounding.

#include <optional>
#include <string>

#include "golden/across.h"
#include "scenarios/cli/common.h"

namespace redraft::scenarios {

/// `a` and `b` are run folders or numerics goldens. nullopt: neither holds a response, so there is no bound.
std::optional<golden::AcrossComparison> compareClasses(const std::string& a, const std::string& b,
                                                       const Places& places);

}  // namespace redraft::scenarios
