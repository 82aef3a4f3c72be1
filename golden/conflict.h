#pragma once
// A golden in which git has left a merge conflict: both sides of it, and words for it.

#include <optional>
#include <string>
#include <vector>

#include "golden/golden.h"

namespace redraft::golden {

struct MergeConflict {
  int line = 0;  // of the first marker, from 1
  int hunks = 0;
  std::string ours, theirs;          // what git calls the sides: "HEAD", "feature"
  std::vector<std::string> keys;     // of the lines that are in conflict, in order, each once
  std::string oursText, theirsText;  // the file as each side would have it
};

/// nullopt when there are no markers. Pure; the sides need not be JSON.
std::optional<MergeConflict> findConflict(const std::string& text);

/// Throws Error(kBadInput) with line, sides and keys, and how to settle it.
[[noreturn]] void refuseConflict(const MergeConflict& conflict, const std::string& path);

}  // namespace redraft::golden
