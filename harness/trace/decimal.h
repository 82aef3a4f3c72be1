#pragma once
// Numbers of JSON, exactly.

#include <cstdint>
#include <optional>
#include <string_view>

namespace redraft::harness {

/// A whole number of JSON that fits; nothing for anything else ("1.5", "1e3", "\"7\"").
std::optional<std::int64_t> parseInteger(std::string_view token);

/// Microseconds as Kineto writes them, in nanoseconds; digits beyond the third are cut off. A double would be wrong by
/// up to a microsecond for times since 1970. Nothing when the token is no such number, or beyond 292 years.
std::optional<std::int64_t> parseMicroseconds(std::string_view token);

}  // namespace redraft::harness
