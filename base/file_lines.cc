#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/internal/descriptor.h"

namespace redraft {
namespace {

/// Cuts off what follows the last newline: the torn line of a writer that was killed. 0 or errno.
int cutTornLine(int fd, off_t size) {
  char block[4096];
  off_t end = size;
  while (end > 0) {
    const off_t start = end > static_cast<off_t>(sizeof block) ? end - static_cast<off_t>(sizeof block) : 0;
    const ssize_t count = ::pread(fd, block, static_cast<std::size_t>(end - start), start);
    if (count < 0 && errno == EINTR) continue;
    if (count != end - start) return count < 0 ? errno : EIO;
    const void* newline = ::memrchr(block, '\n', static_cast<std::size_t>(count));
    if (newline != nullptr) {
      end = start + (static_cast<const char*>(newline) - block) + 1;
      break;
    }
    end = start;
  }
  return end == size || ::ftruncate(fd, end) == 0 ? 0 : errno;
}

}  // namespace

LineWriter::LineWriter(const std::string& path) : path_(path) {
  internal::Descriptor file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  int code = file.get() < 0 ? errno : 0;
  struct stat status;
  if (code == 0 && ::fstat(file.get(), &status) != 0) code = errno;
  if (code == 0 && S_ISREG(status.st_mode)) code = cutTornLine(file.get(), status.st_size);
  if (code != 0) {
    throw Error(ErrorKind::kEnvironment, path_, std::string("cannot open for appending: ") + std::strerror(code),
                "name a writable file");
  }
  fd_ = file.release();
}

LineWriter::~LineWriter() { ::close(fd_); }

void LineWriter::append(std::string_view line) {
  REDRAFT_CHECK(line.find('\n') == std::string_view::npos, "LineWriter::append takes one line");
  std::string bytes;
  bytes.reserve(line.size() + 1);
  bytes.append(line).push_back('\n');
  // O_APPEND makes one write whole between threads; a short one (full disk) is finished or taken back under the mutex.
  const std::lock_guard<std::mutex> guard(mutex_);
  std::size_t written = 0;
  const int code = internal::writeAll(fd_, bytes.data(), bytes.size(), &written);
  if (code == 0) return;
  std::string message = std::string("cannot append: ") + std::strerror(code);
  struct stat status;
  if (written > 0 && ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) &&
      ::ftruncate(fd_, status.st_size - static_cast<off_t>(written)) != 0) {
    message += std::string(", nor take back the torn line: ") + std::strerror(errno);
  }
  throw Error(ErrorKind::kEnvironment, path_, message, "free some space, or name another folder");
}

std::vector<std::string> readLines(const std::string& path, bool* torn, std::size_t maxBytes) {
  const std::string bytes = readFile(path, maxBytes);
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end; (end = bytes.find('\n', start)) != std::string::npos; start = end + 1) {
    lines.push_back(bytes.substr(start, end - start));
  }
  if (torn != nullptr) *torn = start < bytes.size();
  return lines;
}

}  // namespace redraft
