#pragma once
// runner.log: the beginning of a child's output as it comes, and its end. A child that writes without bound fills no
// disk.

#include <cstddef>
#include <string>
#include <string_view>

namespace redraft::harness {

class OutputLog {
 public:
  static constexpr std::size_t kHeadBytes = 4u << 20;
  static constexpr std::size_t kTailBytes = 256u << 10;

  /// Throws Error(kEnvironment) when the file cannot be made.
  explicit OutputLog(const std::string& path);
  ~OutputLog();
  OutputLog(const OutputLog&) = delete;
  OutputLog& operator=(const OutputLog&) = delete;

  /// Throws Error(kEnvironment) when the disk refuses.
  void append(std::string_view bytes);
  /// Writes the tail, with a line that says how much lies between.
  void finish();

 private:
  void write(std::string_view bytes);

  std::string path_;
  int fd_ = -1;
  std::size_t written_ = 0;
  std::size_t leftOut_ = 0;
  std::string tail_;
};

}  // namespace redraft::harness
