#pragma once
// How the two texts show times, steps and groups.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/timing/time_split.h"

namespace redraft::harness {

/// Columns that a name of a kernel may take.
inline constexpr std::size_t kNameWidth = 72;

/// Rows as lines, each with `indent` before it; columns named in `right` are aligned right.
using Rows = std::vector<std::vector<std::string>>;
std::string alignedLines(const Rows& rows, const std::string& indent, const std::vector<std::size_t>& right);

/// Milliseconds with three digits: "12.345"; with its sign: "+0.120".
std::string milliseconds(double ns);
std::string signedMilliseconds(double ns);
/// "12.3 %", of a whole that may be 0.
std::string percent(double part, double whole);
/// "1, 2, 4–9".
std::string stepRanges(const std::vector<std::int64_t>& steps);
/// "rank 1, device 0 (drafter[0], target[1])".
std::string deviceTitle(const std::string& process, std::int32_t device, const std::vector<std::string>& roles);
/// Role, phase and stream, as far as there are some.
std::string placeText(const std::string& role, const std::string& phase, const std::string& stream);
/// The name shortened, and the shape.
std::string workText(const std::string& name, const std::string& shape);

}  // namespace redraft::harness
