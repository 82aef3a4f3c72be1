#pragma once

#include <string>

namespace redraft {

/// What printf(pattern, …) would print, however long it is; the compiler holds the values to the pattern.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* pattern, ...);

}  // namespace redraft
