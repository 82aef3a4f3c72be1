#pragma once
// Files: whole reads with a bound, writes that are whole or absent, append-only logs, locks.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redraft {

/// Throws Error(kBadInput) when the file is missing, unreadable, not a regular file, or larger than maxBytes.
std::string readFile(const std::string& path, std::size_t maxBytes = 256u << 20);

/// Writes a temporary file beside `path`, syncs it, renames it over `path`. On any failure `path` is as it was, the
/// temporary is removed, and Error(kEnvironment) names the step (open, write, sync, rename) and errno.
void writeFileAtomically(const std::string& path, std::string_view bytes);

/// mkdir -p. Throws Error(kEnvironment).
void makeDirectories(const std::string& path);

std::string joinPath(std::string_view folder, std::string_view name);
bool fileExists(const std::string& path);
std::vector<std::string> listDirectory(const std::string& path);  // names, sorted

/// An append-only file of lines. Each append() is one write(2) of one whole line, so that a killed writer leaves at most
/// one torn last line. Thread-safe. A failed write throws Error(kEnvironment).
class LineWriter {
 public:
  explicit LineWriter(const std::string& path);
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// `line` holds no newline; one is added.
  void append(std::string_view line);

 private:
  std::string path_;
  int fd_ = -1;
};

/// The whole lines of a file written by LineWriter. A torn last line (no newline) is dropped and reported in `torn`.
std::vector<std::string> readLines(const std::string& path, bool* torn = nullptr, std::size_t maxBytes = 1u << 30);

/// An advisory lock on a file (flock), held until destroyed.
class FileLock {
 public:
  /// Tries for timeoutMs; throws Error(kEnvironment) naming the holder's pid when it is still held.
  FileLock(const std::string& path, int timeoutMs);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace redraft
