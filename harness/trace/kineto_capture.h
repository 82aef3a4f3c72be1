#pragma once
// The top-level keys of a Kineto file that say what was captured, and of which devices.

#include <string>
#include <string_view>

#include "harness/trace/trace.h"

namespace redraft::harness {

/// Reads the value of a top-level key into `file`. Throws Error(kBadInput) with `place` when it is not what the key
/// holds. Keys that say nothing of that are passed over.
void readKinetoKey(std::string_view key, std::string_view json, const std::string& place, TraceFile& file);
bool isKinetoHeadKey(std::string_view key);

/// The value of the key kineto::kCaptureKey.
std::string captureJson(const CaptureInfo& capture);

}  // namespace redraft::harness
