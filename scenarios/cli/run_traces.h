#pragma once
// The traces of a run, or of what else a path names.

#include <optional>
#include <string>
#include <vector>

#include "harness/timing/time_split.h"

namespace redraft::scenarios {

/// The traces that a path stands for: of a run those of all its processes, else the path itself. Empty: a run that left
/// none.
std::vector<std::string> tracesOf(const std::string& path);

/// The split of the traces of `path`. Throws Error(kBadInput), also for a run that left none.
harness::TimeSplit splitOf(const std::string& path, const harness::SplitOptions& options = {});

/// The summary of what changed between two runs that both left traces, or why there is none; nothing where one left
/// none.
std::optional<std::string> attributionOf(const std::string& runA, const std::string& runB);

}  // namespace redraft::scenarios
