#pragma once
// The bounded queue between target and drafter workers. Items carry a sequence number, and are admitted and handed out
// by it, so what a consumer gets never depends on which producer was faster. What a producer knows to be done on the
// devices comes with its item (Instrument::publish), and what a consumer knew as it took one with the room that this
// made.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "model/instrument.h"
#include "model/pipeline/run_monitor.h"

namespace redraft::model {

template <class Item>
class OrderedQueue {
 public:
  /// `depth` > 0 items. The window of admitted numbers begins at the lowest one not yet taken: a queue that only
  /// counted its items could fill up with later ones and lock out the one that everybody waits for.
  OrderedQueue(RunMonitor& monitor, std::int64_t depth, std::int64_t first = 0)
      : monitor_(monitor), depth_(depth), lowest_(first) {
    REDRAFT_CHECK(depth > 0, "a queue holds at least one item");
  }

  /// Blocks while `sequence` is `depth` or more beyond the lowest item not yet taken. Each number is pushed once.
  void push(std::int64_t sequence, Item item, const std::string& who) {
    auto lock = monitor_.lock();
    monitor_.wait(
        lock, who, [&] { return "room for micro-batch " + std::to_string(sequence) + state(); },
        [&] { return sequence < lowest_ + depth_; });
    const auto [entry, added] = items_.emplace(sequence, Entry{std::move(item), {}});
    REDRAFT_CHECK(added && sequence >= lowest_, "a sequence number is pushed once");
    instrument().observe(room_);
    instrument().publish(entry->second.given);
    monitor_.changed();
  }

  /// Blocks until `sequence` was pushed, and takes it. Each number is taken once, by any consumer.
  Item pop(std::int64_t sequence, const std::string& who) {
    auto lock = monitor_.lock();
    monitor_.wait(
        lock, who, [&] { return "micro-batch " + std::to_string(sequence) + " from the target workers" + state(); },
        [&] { return items_.count(sequence) != 0; });
    return takeOut(sequence);
  }

  /// The same where it was pushed already.
  std::optional<Item> tryPop(std::int64_t sequence) {
    const auto lock = monitor_.lock();
    if (items_.count(sequence) == 0) return std::nullopt;
    return takeOut(sequence);
  }

  /// Items that wait now.
  std::int64_t size() const {
    auto lock = monitor_.lock();
    return static_cast<std::int64_t>(items_.size());
  }

 private:
  struct Entry {
    Item item;
    devices::HostMark given;
  };

  /// Under the monitor's lock.
  Item takeOut(std::int64_t sequence) {
    Entry entry = std::move(items_.at(sequence));
    items_.erase(sequence);
    instrument().observe(entry.given);
    instrument().publish(taken_[sequence]);
    for (auto next = taken_.begin(); next != taken_.end() && next->first == lowest_; next = taken_.erase(next)) {
      devices::joinClock(room_.done, next->second.done);
      ++lowest_;
    }
    monitor_.changed();
    return std::move(entry.item);
  }

  std::string state() const {
    return " (the queue is at " + std::to_string(lowest_) + ", depth " + std::to_string(depth_) + ")";
  }

  RunMonitor& monitor_;
  const std::int64_t depth_;
  std::int64_t lowest_;
  std::map<std::int64_t, Entry> items_;
  std::map<std::int64_t, devices::HostMark> taken_;  // beyond lowest_
  devices::HostMark room_;                           // of all that were taken below it
};

}  // namespace redraft::model
