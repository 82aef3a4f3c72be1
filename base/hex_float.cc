#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/json.h"
#include "base/text.h"

namespace redraft {

std::string toHexFloat(double value) {
  if (std::isnan(value)) return "nan";
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "inf";
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, std::fabs(value), std::chars_format::hex).ptr;
  return sign + "0x" + std::string(digits, end);
}

double fromHexFloat(std::string_view text) {
  const auto refuse = [&] { throw std::invalid_argument("not a hex float: \"" + printable(text) + "\""); };
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  double value = std::numeric_limits<double>::quiet_NaN();
  if (rest == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (rest != "nan") {
    // from_chars itself would take a second sign, "inf" and "nan" here.
    constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    if (rest.substr(0, 2) != "0x" || kDigits.find(rest.substr(2, 1)) == std::string_view::npos || rest.size() < 3)
      refuse();
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(rest.data() + 2, end, value, std::chars_format::hex);
    if (result.ec != std::errc() || result.ptr != end) refuse();
  }
  return negative ? -value : value;
}

}  // namespace redraft
