#include "harness/trace/decimal.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/characters.h"

namespace redraft::harness {
namespace {

/// With an exponent: rare, and not by Kineto.
std::optional<std::int64_t> parseScientific(std::string_view token) {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  value = std::round(value * 1000);
  if (!(std::abs(value) < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::optional<std::int64_t> parseInteger(std::string_view token) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parseMicroseconds(std::string_view token) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max() / 1000 / 10 - 1;
  const std::string_view all = token;
  const bool negative = !token.empty() && token.front() == '-';
  if (negative) token.remove_prefix(1);
  std::int64_t value = 0;
  std::size_t at = 0;
  for (; at < token.size() && isDigit(token[at]); ++at) {
    if (value > kLargest) return std::nullopt;
    value = value * 10 + (token[at] - '0');
  }
  if (at == 0) return std::nullopt;
  std::int64_t nanos = value * 1000;
  if (at < token.size() && token[at] == '.') {
    std::int64_t unit = 100;
    const std::size_t point = at;
    for (++at; at < token.size() && isDigit(token[at]); ++at, unit /= 10) nanos += (token[at] - '0') * unit;
    if (at == point + 1) return std::nullopt;
  }
  if (at != token.size()) return parseScientific(all);
  return negative ? -nanos : nanos;
}

}  // namespace redraft::harness
