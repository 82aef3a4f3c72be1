#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/internal/descriptor.h"

namespace redraft {
namespace {

std::string errnoText(int code) { return std::strerror(code); }

[[noreturn]] void throwEnvironment(const std::string& path, const std::string& message,
                                   const std::string& remedy = "") {
  throw Error(ErrorKind::kEnvironment, path, message, remedy);
}

/// Where a write to `path` ends up: the target of a link, else `path`.
std::string resolveLink(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

}  // namespace

namespace internal {

Descriptor openForReading(const std::string& path, std::size_t* bytes) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int code = errno;
    throwBadInput(path, "cannot open: " + errnoText(code),
                  code == ENOENT ? "check the path" : "check the file's permissions");
  }
  struct stat status;
  if (::fstat(file.get(), &status) != 0) throwBadInput(path, "cannot stat: " + errnoText(errno));
  if (!S_ISREG(status.st_mode)) {
    throwBadInput(path, S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file");
  }
  *bytes = static_cast<std::size_t>(status.st_size);
  return file;
}

int writeAll(int fd, const void* data, std::size_t bytes, std::size_t* written) {
  const char* next = static_cast<const char*>(data);
  *written = 0;
  while (*written < bytes) {
    const ssize_t count = ::write(fd, next + *written, bytes - *written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    *written += static_cast<std::size_t>(count);
  }
  return 0;
}

}  // namespace internal

std::string readFile(const std::string& path, std::size_t maxBytes) {
  std::size_t expected = 0;
  const internal::Descriptor file = internal::openForReading(path, &expected);
  const auto refuse = [&] {
    throwBadInput(path, "is larger than " + std::to_string(maxBytes) + " bytes", "give a smaller file");
  };
  if (expected > maxBytes) refuse();
  std::string bytes(expected, '\0');
  std::size_t have = 0;
  while (true) {
    // Reads to the end and not to `expected`: the file may grow, and /proc says 0.
    if (have == bytes.size()) {
      char more[4096];
      const ssize_t count = ::read(file.get(), more, sizeof more);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throwBadInput(path, "cannot read: " + errnoText(errno));
      if (count == 0) return bytes;
      bytes.append(more, static_cast<std::size_t>(count));
      have = bytes.size();
      if (have > maxBytes) refuse();
      continue;
    }
    const ssize_t count = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throwBadInput(path, "cannot read: " + errnoText(errno));
    if (count == 0) break;  // shrank meanwhile
    have += static_cast<std::size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

AtomicFile::AtomicFile(const std::string& path) : path_(resolveLink(path)) {
  static std::atomic<unsigned> counter{0};
  struct stat status;
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throwEnvironment(path_, "cannot open for writing: is not a regular file", "name a file in a writable folder");
  }
  temporary_ = path_ + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp";
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) {
    const int code = errno;
    temporary_.clear();  // nothing to remove
    fail("open", code);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* step, int code) {
  const char* remedy = code == ENOSPC || code == EDQUOT || code == EFBIG ? "free some space" : "name a writable folder";
  throwEnvironment(path_, std::string("cannot write (") + step + "): " + errnoText(code), remedy);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  REDRAFT_CHECK(fd_ >= 0, "AtomicFile::write after commit");
  std::size_t written = 0;
  if (const int code = internal::writeAll(fd_, data, bytes, &written); code != 0) fail("write", code);
}

void AtomicFile::commit() {
  REDRAFT_CHECK(fd_ >= 0, "AtomicFile::commit twice");
  // The data must be on disk before the name points to it. The folder is not synced: after a power cut the old or the
  // new file is there, whole either way.
  if (::fsync(fd_) != 0) fail("sync", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail("close", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename", errno);
  temporary_.clear();
}

void writeFileAtomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void makeDirectories(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string folder = path.substr(0, end);
    struct stat status;
    const bool made = ::mkdir(folder.c_str(), 0777) == 0;
    const int code = errno;
    if (made || (::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode))) continue;
    throwEnvironment(folder, "cannot make the folder: " + errnoText(code), "name a folder in a writable place");
  }
}

std::string joinPath(std::string_view folder, std::string_view name) {
  if (folder.empty() || (!name.empty() && name.front() == '/')) return std::string(name);
  std::string path(folder);
  if (path.back() != '/') path += '/';
  return path.append(name);
}

bool fileExists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

std::vector<std::string> listDirectory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) throwBadInput(path, "cannot list the folder: " + errnoText(errno), "check the path");
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) throwBadInput(path, "cannot list the folder: " + errnoText(errno));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace redraft
