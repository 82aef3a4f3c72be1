#pragma once
// One line of diagnostics on standard error: "redraft: level: message". No fmt in this header, because files with
// LibTorch see the wheel's fmt 12 first.

#include <string_view>

namespace redraft {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void setLogLevel(LogLevel level);
void log(LogLevel level, std::string_view message);  // thread-safe, one write

}  // namespace redraft
