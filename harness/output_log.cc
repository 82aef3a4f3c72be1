#include "harness/output_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace redraft::harness {

OutputLog::OutputLog(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (fd_ < 0) throw Error(ErrorKind::kEnvironment, path_, std::strerror(errno));
}

OutputLog::~OutputLog() { ::close(fd_); }

void OutputLog::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw Error(ErrorKind::kEnvironment, path_, std::strerror(errno), "free space on the disk");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void OutputLog::append(std::string_view bytes) {
  const std::size_t head = std::min(bytes.size(), kHeadBytes - written_);
  write(bytes.substr(0, head));
  written_ += head;
  tail_.append(bytes.substr(head));
  if (tail_.size() <= 2 * kTailBytes) return;
  leftOut_ += tail_.size() - kTailBytes;
  tail_.erase(0, tail_.size() - kTailBytes);
}

void OutputLog::finish() {
  if (tail_.size() > kTailBytes) {
    leftOut_ += tail_.size() - kTailBytes;
    tail_.erase(0, tail_.size() - kTailBytes);
  }
  if (leftOut_ > 0) write("\n[redraft: " + std::to_string(std::exchange(leftOut_, 0)) + " bytes left out]\n");
  write(std::exchange(tail_, {}));
}

}  // namespace redraft::harness
