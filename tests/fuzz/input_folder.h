#pragma once
// A fuzz target's input as files, for readers that take a path.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tests/fuzz/may_refuse.h"
#include "tests/support/temp_folder.h"

namespace redraft::fuzz {

class InputFolder {
 public:
  const std::string& path() const { return folder_.path(); }
  std::string file(const std::string& name) const { return folder_.file(name); }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream out(file(name), std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    REDRAFT_CHECK(out.good(), "cannot write " + file(name));
  }

  /// Lays an input of several files. Each begins behind a line "=== NAME" and ends before the newline of the next such
  /// line; names that are not in `names`, and what comes before the first, are passed over. Files of `names` that the
  /// input lacks are not there.
  void lay(std::string_view bytes, const std::vector<std::string>& names) const {
    constexpr std::string_view kMark = "=== ";
    for (const std::string& name : names) std::filesystem::remove(file(name));
    std::size_t at = bytes.substr(0, kMark.size()) == kMark ? 0 : nextMark(bytes, 0);
    while (at < bytes.size()) {
      const std::size_t line = std::min(bytes.find('\n', at), bytes.size());
      const std::size_t end = nextMark(bytes, line);
      const std::string name(bytes.substr(at + kMark.size(), line - at - kMark.size()));
      const std::size_t begin = std::min(line + 1, bytes.size());
      // The newline before a mark belongs to the mark.
      const std::size_t size = end == bytes.size() ? end - begin : end - 1 - std::min(begin, end - 1);
      if (std::find(names.begin(), names.end(), name) != names.end()) write(name, bytes.substr(begin, size));
      at = end;
    }
  }

 private:
  /// Where the next mark behind `from` begins, or the end.
  static std::size_t nextMark(std::string_view bytes, std::size_t from) {
    const std::size_t newline = bytes.find("\n=== ", from);
    return newline == std::string_view::npos ? bytes.size() : newline + 1;
  }

  testing_support::TempFolder folder_;
};

}  // namespace redraft::fuzz
