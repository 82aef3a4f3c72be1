#pragma once
// The compact form of a trace (docs/formats.md, "Compact trace"): about a fiftieth of torch.profiler's JSON.

#include <string>
#include <string_view>

#include "harness/trace/trace.h"

namespace redraft::harness {

inline constexpr std::string_view kBinaryTraceSuffix = ".rdtrace";

std::string binaryTraceBytes(const Trace& trace);
/// Throws Error(kBadInput) with `name` and the byte on what is damaged, cut off or of another version. No allocation is
/// larger than the input allows.
Trace parseBinaryTrace(std::string_view bytes, const std::string& name);

void writeBinaryTrace(const Trace& trace, const std::string& path);
Trace readBinaryTrace(const std::string& path);
bool isBinaryTrace(const std::string& path);

}  // namespace redraft::harness
