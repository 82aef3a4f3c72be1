#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

namespace redraft {
namespace {

std::atomic<LogLevel> threshold{LogLevel::kInfo};

std::string_view levelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

}  // namespace

void setLogLevel(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }

void log(LogLevel level, std::string_view message) {
  if (level < threshold.load(std::memory_order_relaxed)) return;
  std::string line = "redraft: ";
  line.append(levelName(level)).append(": ").append(message).push_back('\n');
  // A closed or full standard error leaves nobody to tell: the line is given up.
  ssize_t written = 0;
  do {
    written = ::write(STDERR_FILENO, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
}

}  // namespace redraft
