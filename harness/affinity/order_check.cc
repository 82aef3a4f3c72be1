// A8: a declared hand-off whose consumer does not wait for its producer.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

/// How far a stream or thread knows every stream: of each, the number of its operations that come before.
using Clock = std::vector<std::uint32_t>;

void joinClocks(Clock& into, const Clock& from) {
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
    const TraceRecord* work = nullptr;  // null: the stream had none yet
  };
  /// Of the newest work.
  const Position& newest() const { return newest_; }
  /// Of the newest work on the record's stream.
  Position newestOn(const TraceRecord& record) {
    const std::size_t number = numberOf(keyOf(record));
    const Clock& clock = clocks_[number];
    return {number, number < clock.size() ? clock[number] : 0, clock, last_[number]};
  }

  using StreamKey = std::tuple<std::int64_t, std::int32_t, std::int32_t>;  // process, context, stream
  StreamKey keyOf(const TraceRecord& record) const { return {index_.processOf(record), record.context, record.stream}; }

 private:
  std::size_t numberOf(const StreamKey& key) {
    const auto [entry, added] = numbers_.try_emplace(key, numbers_.size());
    if (added) {
      clocks_.emplace_back();
      last_.push_back(nullptr);
    }
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
        joinClocks(clock, clocks_[number]);
    }
  }

  void work(const TraceRecord& record) {
    const std::size_t number = numberOf(keyOf(record));
    Clock clock = clocks_[number];
    const TraceRecord* call = index_.callOf(record);
    if (call != nullptr) joinClocks(clock, threads_[{index_.processOf(record), call->thread}]);
    joinNullStream(record, clock);
    if (clock.size() <= number) clock.resize(number + 1);
    const std::uint32_t operation = ++clock[number];
    newest_ = {number, operation, clock, &record};
    last_[number] = &record;
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
          joinClocks(known, clocks_[number]);
    }
    const TraceRecord* call = index_.callOf(record);
    const std::int64_t thread = call != nullptr ? call->thread : record.thread;
    joinClocks(byStream ? clockOf(record) : threads_[{index_.processOf(record), thread}], known);
  }

  const TraceIndex& index_;
  std::map<StreamKey, std::size_t> numbers_;
  std::vector<Clock> clocks_;
  std::vector<const TraceRecord*> last_;  // work of each
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
    if (isDeviceWork(record.kind) || record.kind == RecordKind::kEvent || record.kind == RecordKind::kSync ||
        record.kind == RecordKind::kHandOff)
      timed.emplace_back(issuedAt(index, record), &record);
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const TraceRecord*> records;
  records.reserve(timed.size());
  for (const auto& [time, record] : timed) records.push_back(record);
  return records;
}

/// The hand-offs of a trace. An end is work that bears its number, or a declaration: the giver's stands for the newest
/// work on its stream, the taker's for the first that its thread puts on its stream.
class HandOffs {
 public:
  explicit HandOffs(const TraceIndex& index) : index_(index), order_(index) {
    for (const TraceRecord* record : inOrderOfIssue(index)) {
      order_.next(*record);
      if (isDeviceWork(record->kind)) {
        work(*record);
      } else if (record->kind == RecordKind::kHandOff) {
        declared(*record);
      }
    }
  }

  void check(CheckBuilder& check) const {
    for (const Use& use : uses_) {
      const auto produced = produced_.find(use.handOff);
      if (produced != produced_.end() && produced->second.work != nullptr) checkOrder(use, produced->second, check);
    }
  }

  /// Why silence means nothing: no end that was declared can be told from other work. "": some can.
  std::string problem() const {
    if (given_ > 0 && std::none_of(produced_.begin(), produced_.end(),
                                   [](const auto& entry) { return entry.second.work != nullptr; }))
      return "hand-offs are declared on streams that no work is on";
    if (taken_ > 0 && uses_.empty()) return "hand-offs are declared to be taken on streams that no work follows on";
    return "";
  }

 private:
  using Key = std::pair<std::int64_t, std::uint32_t>;  // process, number
  struct Use {
    Key handOff;
    HappensBefore::Position position;
  };

  Key keyOf(const TraceRecord& end) const { return {index_.processOf(end), end.handoff}; }

  void declared(const TraceRecord& end) {
    if (!end.has(kConsumer)) {
      ++given_;
      produced_[keyOf(end)] = order_.newestOn(end);
    } else {
      ++taken_;
      awaited_[{order_.keyOf(end), end.thread}].push_back(keyOf(end));
    }
  }

  void work(const TraceRecord& record) {
    if (record.handoff != 0 && !record.has(kConsumer)) produced_[keyOf(record)] = order_.newest();
    if (record.handoff != 0 && record.has(kConsumer) && marked_.insert(keyOf(record)).second)
      uses_.push_back({keyOf(record), order_.newest()});
    const TraceRecord* call = index_.callOf(record);
    const auto awaited = call == nullptr ? awaited_.end() : awaited_.find({order_.keyOf(record), call->thread});
    if (awaited == awaited_.end()) return;
    for (const Key& handOff : awaited->second) uses_.push_back({handOff, order_.newest()});
    awaited_.erase(awaited);
  }

  void checkOrder(const Use& use, const HappensBefore::Position& produced, CheckBuilder& check) const {
    const Clock& known = use.position.clock;
    if (produced.stream < known.size() && known[produced.stream] >= produced.operation) return;
    const TraceRecord &producer = *produced.work, &consumer = *use.position.work;
    const std::string& role = index_.roleOf(producer);
    const bool racing = consumer.startNs < producer.endNs();
    check.violation(consumer, "hand-off " + std::to_string(use.handOff.second) + ": no wait between its producer (" +
                                  (role.empty() ? "" : role + ", ") + "event " + std::to_string(producer.index) +
                                  ") and this; " +
                                  (racing ? "racing: it began before the producer ended"
                                          : "latent: this time it began after the producer had ended"));
  }

  const TraceIndex& index_;
  HappensBefore order_;
  std::map<Key, HappensBefore::Position> produced_;
  std::map<std::pair<HappensBefore::StreamKey, std::int64_t>, std::vector<Key>> awaited_;  // by stream and thread
  std::set<Key> marked_;  // whose first consumer bears their number
  std::vector<Use> uses_;
  std::size_t given_ = 0, taken_ = 0;
};

}  // namespace

TraceCheck checkMissingWait(const TraceIndex& index) {
  CheckBuilder check(index, "A8", "missing-wait", "what one role hands to another is waited for");
  const auto& records = index.trace().records;
  const bool declared =
      std::any_of(records.begin(), records.end(), [](const TraceRecord& record) { return record.handoff != 0; });
  const bool ordered = index.captured(RecordKind::kSync) && index.captured(RecordKind::kEvent);
  std::string problem;
  if (declared && ordered) {
    const HandOffs handOffs(index);
    handOffs.check(check);
    problem = handOffs.problem();
  }
  index.each(RecordKind::kRace,
             [&](const TraceRecord& race) { check.violation(race, index.trace().text(race.detail)); });
  if (declared && !ordered) return check.notComputable("the trace has no events and waits");
  if (!declared && !index.captured(RecordKind::kHandOff) && !index.captured(RecordKind::kRace))
    return check.notComputable("the trace declares no hand-offs; what streams share undeclared cannot be seen");
  return problem.empty() ? check.done() : check.notComputable(problem);
}

}  // namespace redraft::harness
