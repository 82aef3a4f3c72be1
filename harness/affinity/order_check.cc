// A8: a declared hand-off whose consumer does not wait for its producer.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

/// How far a stream or thread knows every stream: of each, the number of its operations that come before.
using Clock = std::vector<std::uint32_t>;

void join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

/// Goes through a trace in the order of issue, and orders what streams do by events, host waits and null streams.
class HappensBefore {
 public:
  explicit HappensBefore(const TraceIndex& index) : index_(index) {
    index.each(RecordKind::kContext, [&](const TraceRecord& context) {
      if (context.stream >= 0) nullStream_[{index.processOf(context), context.context}] = context.stream;
    });
    index.each(RecordKind::kStream, [&](const TraceRecord& stream) {
      if (stream.has(kNonBlocking)) nonBlocking_[keyOf(stream)] = true;
    });
  }

  /// Takes the next record in the order of issue.
  void next(const TraceRecord& record) {
    if (isDeviceWork(record.kind)) work(record);
    if (record.kind == RecordKind::kEvent && record.link >= 0)
      recorded_[{index_.processOf(record), record.link}] = clockOf(record);
    if (record.kind == RecordKind::kSync) wait(record);
  }

  struct Position {
    std::size_t stream = 0;
    std::uint32_t operation = 0;
    Clock clock;
  };
  const Position& newest() const { return newest_; }

 private:
  using StreamKey = std::tuple<std::int64_t, std::int32_t, std::int32_t>;  // process, context, stream
  StreamKey keyOf(const TraceRecord& record) const { return {index_.processOf(record), record.context, record.stream}; }

  std::size_t numberOf(const StreamKey& key) {
    const auto [entry, added] = numbers_.try_emplace(key, numbers_.size());
    if (added) clocks_.emplace_back();
    return entry->second;
  }
  Clock& clockOf(const TraceRecord& record) { return clocks_[numberOf(keyOf(record))]; }

  /// The null stream waits for its context's blocking streams, and they for it.
  void joinNullStream(const TraceRecord& record, Clock& clock) {
    const auto null = nullStream_.find({index_.processOf(record), record.context});
    if (null == nullStream_.end()) return;
    const StreamKey own = keyOf(record);
    for (const auto& [key, number] : numbers_) {
      if (std::get<0>(key) != std::get<0>(own) || std::get<1>(key) != record.context || nonBlocking_.contains(key))
        continue;
      if (record.stream == null->second || (std::get<2>(key) == null->second && !nonBlocking_.contains(own)))
        join(clock, clocks_[number]);
    }
  }

  void work(const TraceRecord& record) {
    const std::size_t number = numberOf(keyOf(record));
    Clock clock = clocks_[number];
    const TraceRecord* call = index_.callOf(record);
    if (call != nullptr) join(clock, threads_[{index_.processOf(record), call->thread}]);
    joinNullStream(record, clock);
    if (clock.size() <= number) clock.resize(number + 1);
    newest_ = {number, ++clock[number], clock};
    clocks_[number] = std::move(clock);
  }

  void wait(const TraceRecord& record) {
    const bool byStream = index_.trace().text(record.name).find("Wait") != std::string::npos;
    Clock known;
    if (record.link >= 0) {
      const auto recorded = recorded_.find({index_.processOf(record), record.link});
      if (recorded != recorded_.end()) known = recorded->second;
    } else if (!byStream && record.stream >= 0) {
      known = clockOf(record);
    } else if (!byStream) {
      for (const auto& [key, number] : numbers_)
        if (std::get<0>(key) == index_.processOf(record) && std::get<1>(key) == record.context)
          join(known, clocks_[number]);
    }
    const TraceRecord* call = index_.callOf(record);
    const std::int64_t thread = call != nullptr ? call->thread : record.thread;
    join(byStream ? clockOf(record) : threads_[{index_.processOf(record), thread}], known);
  }

  const TraceIndex& index_;
  std::map<StreamKey, std::size_t> numbers_;
  std::vector<Clock> clocks_;
  std::map<std::pair<std::int64_t, std::int64_t>, Clock> threads_, recorded_;
  std::map<std::pair<std::int64_t, std::int32_t>, std::int32_t> nullStream_;
  std::map<StreamKey, bool> nonBlocking_;
  Position newest_;
};

std::int64_t issuedAt(const TraceIndex& index, const TraceRecord& record) {
  const TraceRecord* call = record.correlation >= 0 ? index.callOf(record) : nullptr;
  return call != nullptr ? call->startNs : record.startNs;
}

std::vector<const TraceRecord*> inOrderOfIssue(const TraceIndex& index) {
  std::vector<std::pair<std::int64_t, const TraceRecord*>> timed;
  for (const TraceRecord& record : index.trace().records)
    if (isDeviceWork(record.kind) || record.kind == RecordKind::kEvent || record.kind == RecordKind::kSync)
      timed.emplace_back(issuedAt(index, record), &record);
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const TraceRecord*> records;
  records.reserve(timed.size());
  for (const auto& [time, record] : timed) records.push_back(record);
  return records;
}

struct HandOffEnds {
  const TraceRecord* producer = nullptr;  // its last operation
  HappensBefore::Position produced;
  const TraceRecord* consumer = nullptr;  // its first
  HappensBefore::Position consumed;
};

using HandOffKey = std::pair<std::int64_t, std::uint32_t>;

std::map<HandOffKey, HandOffEnds> handOffs(const TraceIndex& index) {
  std::map<HandOffKey, HandOffEnds> ends;
  HappensBefore order(index);
  for (const TraceRecord* record : inOrderOfIssue(index)) {
    order.next(*record);
    if (record->handoff == 0 || !isDeviceWork(record->kind)) continue;
    HandOffEnds& of = ends[{index.processOf(*record), record->handoff}];
    if (!record->has(kConsumer)) {
      of.producer = record;
      of.produced = order.newest();
    } else if (of.consumer == nullptr) {
      of.consumer = record;
      of.consumed = order.newest();
    }
  }
  return ends;
}

void checkHandOff(std::uint32_t id, const HandOffEnds& of, CheckBuilder& check) {
  if (of.consumer == nullptr || of.producer == nullptr) return;
  const Clock& known = of.consumed.clock;
  const bool ordered = of.produced.stream < known.size() && known[of.produced.stream] >= of.produced.operation;
  if (ordered) return;
  const bool racing = of.consumer->startNs < of.producer->endNs();
  check.violation(*of.consumer, "hand-off " + std::to_string(id) + ": no wait between its producer (event " +
                                    std::to_string(of.producer->index) + ") and this; " +
                                    (racing ? "racing: it began before the producer ended"
                                            : "latent: this time it began after the producer had ended"));
}

}  // namespace

TraceCheck checkMissingWait(const TraceIndex& index) {
  CheckBuilder check(index, "A8", "missing-wait", "what one role hands to another is waited for");
  index.each(RecordKind::kRace,
             [&](const TraceRecord& race) { check.violation(race, index.trace().text(race.detail)); });
  const auto& records = index.trace().records;
  const bool declared =
      std::any_of(records.begin(), records.end(), [](const TraceRecord& record) { return record.handoff != 0; });
  if (!declared) {
    return index.captured(RecordKind::kRace)
               ? check.done()
               : check.notComputable("the trace declares no hand-offs; what streams share undeclared cannot be seen");
  }
  if (!index.captured(RecordKind::kSync) || !index.captured(RecordKind::kEvent))
    return check.notComputable("the trace has no events and waits");
  for (const auto& [key, ends] : handOffs(index)) checkHandOff(key.second, ends, check);
  return check.done();
}

}  // namespace redraft::harness
