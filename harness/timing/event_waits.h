#pragma once
// What a stream had to wait for before it could run a piece of work.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/affinity/trace_index.h"

namespace redraft::harness {

/// The last of the events that work waited for.
struct AwaitedEvent {
  /// When it was complete: the end of the newest work on its stream when it was recorded. Absent: the trace does not
  /// hold the recording.
  std::optional<std::int64_t> completedNs;
  const TraceRecord* work = nullptr;  // that work; null: none, or not known
};

class EventWaits {
 public:
  /// The index outlives this.
  explicit EventWaits(const TraceIndex& index);

  /// Of the waits that were put on the work's stream between the work before it and itself. Absent: none.
  std::optional<AwaitedEvent> before(const TraceRecord& work, const TraceRecord& call) const;

 private:
  using StreamKey = std::tuple<std::int64_t, std::int32_t, std::int32_t>;  // process, context, stream
  struct Issued {
    std::int64_t at = 0;                // when the host put it on the stream
    const TraceRecord* work = nullptr;  // on a stream: the one that ends last of all so far
  };
  struct Wait {
    std::int64_t at = 0, link = -1;
  };
  struct Recording {
    StreamKey stream;
    std::int64_t at = 0;
  };

  StreamKey keyOf(const TraceRecord& record) const { return {index_.processOf(record), record.context, record.stream}; }
  std::int64_t issuedAt(const TraceRecord& record) const;
  void collectWork();
  AwaitedEvent awaited(const Wait& wait, std::int64_t process) const;

  const TraceIndex& index_;
  std::map<StreamKey, std::vector<Issued>> work_;                          // by time of issue
  std::map<StreamKey, std::vector<Wait>> waits_;                           // likewise
  std::map<std::pair<std::int64_t, std::int64_t>, Recording> recordings_;  // by process and link
};

}  // namespace redraft::harness
