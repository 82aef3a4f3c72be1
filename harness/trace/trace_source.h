#pragma once
// Bytes of a trace file, and the windows that Kineto JSON is parsed in: each holds whole events, so that windows can be
// parsed apart from each other and a file of any size takes the memory of a few of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redraft::harness {

/// The bytes of a regular file in order, unpacked where it is gzip. One thread at a time. Errors are Error(kBadInput).
class ByteSource {
 public:
  explicit ByteSource(std::string path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fewer than `bytes` only at the end. Throws on a packed file that ends early or is damaged, and beyond 64 GiB.
  std::size_t read(char* into, std::size_t bytes);

  const std::string& path() const { return path_; }
  std::uint64_t position() const { return position_; }

 private:
  std::string path_;
  void* file_ = nullptr;  // gzFile
  std::uint64_t position_ = 0;
};

/// Part of a file of events as a document of its own: `{"traceEvents":[` EVENTS `]}`, the first with the file's own
/// head, the last with its own tail; for a file that is one list, `[` EVENTS `]`.
struct EventWindow {
  std::vector<char> buffer;  // the document, and room for the parser to read beyond it
  std::size_t size = 0;      // of the document
  std::size_t prefix = 0;    // bytes of the document that are not in the file
  std::uint64_t offset = 0;  // in the file, of the first byte after the prefix
  std::uint64_t number = 0;
  bool last = false;

  std::string_view text() const { return {buffer.data(), size}; }
};

/// How a file is cut between two events.
enum class Cutting {
  kBySight,   // at "},{", which could also lie within an event: a parser that finds a window broken must cut exactly
  kByParsing  // where brackets and strings say so
};

/// Cuts a file into windows. One thread at a time.
class WindowCutter {
 public:
  WindowCutter(std::string path, Cutting cutting, std::size_t windowBytes);

  /// False after the last. Throws Error(kBadInput) on what ByteSource refuses, an event longer than 64 MiB, and a file
  /// that is empty or begins with neither '{' nor '['.
  bool next(EventWindow& window);
  bool isList() const { return isList_; }
  std::uint64_t position() const { return source_.position(); }

 private:
  /// Follows brackets and strings over all bytes of the file.
  struct Scanner {
    std::uint64_t offset = 0, cut = 0;  // cut: behind the newest comma between two events
    int depth = 0;
    bool isList = false, inString = false, escaped = false, inEvents = false, afterObject = false;
    std::string key;  // newest string at the root's depth

    void scan(std::string_view text);
    void outside(char c);
  };

  void startWindow(EventWindow& window);
  void fill(EventWindow& window, std::size_t want);
  std::size_t findCut(const EventWindow& window) const;
  void finishWindow(EventWindow& window, std::size_t cut);

  ByteSource source_;
  Cutting cutting_;
  std::size_t windowBytes_;
  std::string carry_;  // read, and not yet in a window
  std::uint64_t carryOffset_ = 0, windows_ = 0;
  bool isList_ = false, ended_ = false;
  Scanner scanner_;
};

}  // namespace redraft::harness
