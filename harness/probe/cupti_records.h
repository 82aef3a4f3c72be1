#pragma once
// CUPTI's activity records as TraceRecords. Pure: bytes in, records out; no call of CUPTI, and no pointer in a record
// is followed (the caller says what a kernel's name is).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/trace/trace.h"

namespace redraft::harness {

/// Correlations beyond 32 bits: CUPTI counts calls in 32, and begins again.
class CorrelationCounter {
 public:
  /// The number nearest to the one before whose low 32 bits are `low`; -1 for 0, which is no correlation.
  std::int64_t widen(std::uint32_t low) {
    if (low == 0) return -1;
    if (newest_ == 0) newest_ = low;  // the program may have called before
    const auto step = static_cast<std::int32_t>(low - static_cast<std::uint32_t>(newest_));
    const std::int64_t number = newest_ + step;
    if (number > 0 && step > 0) newest_ = number;
    return number > 0 ? number : low;
  }

 private:
  std::int64_t newest_ = 0;
};

/// What the bytes of a record do not hold.
struct RecordTexts {
  StringTable* strings = nullptr;
  std::function<StringId(const char*)> kernel;  // of a kernel's name, which may be null
  /// Of a call's callback id; 0: not known.
  std::function<StringId(bool driver, std::uint32_t callback)> call;
};

struct ParsedBuffer {
  std::size_t records = 0;  // of all kinds, those that become none included
  std::size_t bytes = 0;    // parsed; less than there are when the rest could not be
  bool truncated = false;   // the last record goes beyond the end
  std::optional<std::uint32_t> unknownKind;
};

/// Size in bytes of a record of an activity kind in this version of CUPTI; 0: a kind that it has no records of.
std::size_t activityRecordSize(std::uint32_t kind);

/// Appends the records of a buffer to `records`, with times of CUPTI's clock. Events and streams have no time of their
/// own (0): their call has. Host memory and queries that were not ready become no record; neither do kinds that no
/// capture of ours enables. What comes behind a kind that this version does not have cannot be read.
ParsedBuffer parseActivityBuffer(std::span<const std::byte> bytes, const RecordTexts& texts,
                                 CorrelationCounter& correlations, std::vector<TraceRecord>& records);

}  // namespace redraft::harness
