#include "base/formatted.h"

#include <cstdarg>
#include <cstdio>

#include "base/error.h"

namespace redraft {

std::string formatted(const char* pattern, ...) {
  std::va_list values, again;
  va_start(values, pattern);
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, pattern, values);
  va_end(values);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  REDRAFT_CHECK(length >= 0, "a pattern that printf refuses");
  return text;
}

}  // namespace redraft
