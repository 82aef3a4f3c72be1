#pragma once
// Traces by name, whatever their form.

#include <string>
#include <vector>

#include "harness/trace/trace.h"

namespace redraft::harness {

/// One trace of all files named; a folder stands for the traces in it: its
/// compact ones (*.rdtrace), or where there are none its Kineto files (*.json, *.json.gz). Throws Error(kBadInput).
Trace loadTraces(const std::vector<std::string>& paths);

/// The files that a folder of traces stands for, sorted; empty when there are none.
std::vector<std::string> traceFilesIn(const std::string& folder);

}  // namespace redraft::harness
