#pragma once
// One window of a Kineto JSON file, parsed: the records of its events and what it says of the file.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/trace/trace.h"
#include "harness/trace/trace_source.h"

namespace redraft::harness {

/// A window that is no JSON, or not what Kineto writes. `offset` is a byte of the file.
struct WindowError {
  std::uint64_t offset = 0;
  std::uint64_t event = 0;  // of the window
  std::string message;
};

struct ParsedWindow {
  std::vector<TraceRecord> records;  // texts are the parser's
  TraceFile head;                    // path empty; what this window holds of it
};

/// Parses windows with one table of texts. One thread at a time.
class KinetoWindowParser {
 public:
  KinetoWindowParser();
  ~KinetoWindowParser();
  KinetoWindowParser(const KinetoWindowParser&) = delete;
  KinetoWindowParser& operator=(const KinetoWindowParser&) = delete;

  /// Throws WindowError. Events that the audit does not need (operators of the CPU, flows, ranges on the device) are
  /// counted and skipped: of them only strings and brackets are looked at.
  ParsedWindow parse(const EventWindow& window, bool isList);
  const StringTable& strings() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redraft::harness
