#pragma once
// For the .cc files of base only.

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

namespace redraft::internal {

/// Owns a file descriptor. A failed close is not reported: nothing written goes through here.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// A regular file and its size, or Error(kBadInput).
Descriptor openForReading(const std::string& path, std::size_t* bytes);

/// 0, or the errno of the write that failed; `written` says how far it came.
int writeAll(int fd, const void* data, std::size_t bytes, std::size_t* written);

}  // namespace redraft::internal
