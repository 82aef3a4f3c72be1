#pragma once
// Reads Kineto JSON (what torch.profiler exports, plain or gzip, and what kineto_writer.h writes).

#include <cstddef>
#include <string>

#include "harness/trace/trace.h"

namespace redraft::harness {

struct KinetoOptions {
  int threads = 2;
  std::size_t windowBytes = std::size_t{1} << 20;
};

/// One file. Memory: the records, every text once, and a window for each thread. Throws Error(kBadInput) with file,
/// byte and event on what is no such trace.
Trace readKineto(const std::string& path, const KinetoOptions& options = {});

}  // namespace redraft::harness
