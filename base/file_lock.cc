#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/characters.h"
#include "base/error.h"
#include "base/files.h"
#include "base/internal/descriptor.h"

namespace redraft {
namespace {

constexpr std::chrono::milliseconds kRetryInterval{5};

std::string holderOf(int fd) {
  char text[32];
  const ssize_t count = ::pread(fd, text, sizeof text, 0);
  const std::string_view found(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::string pid(found.substr(0, found.find('\n')));
  return isDigits(pid) ? "process " + pid : "another process";
}

/// 0, EWOULDBLOCK when it is held to the end of the time, or another errno.
int lockWithin(int fd, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= deadline) return errno;
    std::this_thread::sleep_for(kRetryInterval);  // flock has no timed wait
  }
}

}  // namespace

FileLock::FileLock(const std::string& path, int timeoutMs) {
  internal::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  int code = file.get() < 0 ? errno : lockWithin(file.get(), std::chrono::milliseconds(timeoutMs));
  if (code == EWOULDBLOCK) {
    throw Error(ErrorKind::kEnvironment, path, "is locked by " + holderOf(file.get()), "wait for it to end, or end it");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  std::size_t written = 0;
  if (code == 0 && ::ftruncate(file.get(), 0) != 0) code = errno;
  if (code == 0) code = internal::writeAll(file.get(), pid.data(), pid.size(), &written);
  if (code != 0) {
    throw Error(ErrorKind::kEnvironment, path, std::string("cannot lock: ") + std::strerror(code),
                "name a file in a writable folder");
  }
  fd_ = file.release();
}

FileLock::~FileLock() { ::close(fd_); }

}  // namespace redraft
