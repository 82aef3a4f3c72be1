#pragma once
// The ranges that a program marks on its threads (record_function in torch): they stand for phases where records have
// none.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "harness/affinity/trace_index.h"

namespace redraft::harness {

class HostRanges {
 public:
  /// Ranges of steps are left out, and all of a trace whose records name roles: it has phases of its own.
  explicit HostRanges(const TraceIndex& index);

  /// The name of the innermost range of the call's thread in which it began; 0: none.
  StringId at(const TraceRecord& call) const;

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;
    StringId name = 0;
  };
  /// From here on, until the next change.
  struct Change {
    std::int64_t at = 0;
    StringId name = 0;
  };
  using Thread = std::pair<std::uint16_t, std::int64_t>;  // file, thread

  static std::vector<Change> innermost(std::vector<Range> ranges);

  std::map<Thread, std::vector<Change>> changes_;
};

}  // namespace redraft::harness
