#pragma once
// Which characters a text is made of: those of ASCII, whatever the locale.

#include <string_view>

namespace redraft {

inline bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// At least one digit, and nothing else.
inline bool isDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// White space alone, or nothing.
inline bool isBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace redraft
