#pragma once
// Files: whole reads with a bound, writes that are whole or absent, append-only logs, locks.

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace redraft {

/// Throws Error(kBadInput) when the file is missing, unreadable, not a regular file, or larger than maxBytes.
std::string readFile(const std::string& path, std::size_t maxBytes = 256u << 20);

/// A file that appears whole or not at all: a temporary beside `path`, which commit() syncs and renames over it. On any
/// failure, and when destroyed before commit(), `path` is as it was and the temporary is removed; a killed process
/// leaves `path` as it was too. Errors are Error(kEnvironment) and name the step (open, write, sync, rename) and errno.
/// A symbolic link is followed; anything there but a regular file is refused. One thread at a time.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  void commit();

 private:
  [[noreturn]] void fail(const char* step, int code);

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

/// An AtomicFile of these bytes.
void writeFileAtomically(const std::string& path, std::string_view bytes);

/// mkdir -p. Throws Error(kEnvironment).
void makeDirectories(const std::string& path);

/// `name` as seen from `folder`: an absolute name, or an empty folder, gives `name`.
std::string joinPath(std::string_view folder, std::string_view name);
/// True when anything is there, a folder too. Links are followed.
bool fileExists(const std::string& path);
/// Names, sorted, without "." and "..". Throws Error(kBadInput) when it cannot be read.
std::vector<std::string> listDirectory(const std::string& path);

/// An append-only file of lines with one writer. Each append() is one write(2) of one whole line, so that a killed
/// writer leaves at most one torn last line; opening the file again cuts that line off. Thread-safe. A failed write
/// throws Error(kEnvironment) and takes back what it wrote of the line.
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
  std::mutex mutex_;
  int fd_ = -1;
};

/// The whole lines of a file written by LineWriter. A torn last line (no newline) is dropped and reported in `torn`.
std::vector<std::string> readLines(const std::string& path, bool* torn = nullptr, std::size_t maxBytes = 1u << 30);

/// An advisory lock on a file (flock), held until destroyed or until the process ends, however it ends. The file stays.
/// Two locks of one process exclude each other as well.
class FileLock {
 public:
  /// Tries for timeoutMs (0: once); throws Error(kEnvironment) naming the holder's pid when it is still held.
  FileLock(const std::string& path, int timeoutMs);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace redraft
