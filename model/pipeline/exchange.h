#pragma once
// Rounds in which every member of a group gives one value and gets everybody's: barrier and all-gather in one. What any
// of them knew to be done on the devices, all know behind it (Instrument::publish).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/instrument.h"
#include "model/pipeline/run_monitor.h"

namespace redraft::model {

template <class Value>
class Exchange {
 public:
  using Values = std::shared_ptr<const std::vector<Value>>;

  Exchange(RunMonitor& monitor, std::vector<std::string> members)
      : monitor_(monitor), members_(std::move(members)), rounds_(members_.size(), 0) {}

  /// Gives this member's value for its next round; blocks until all have given theirs. In order of members, the same
  /// object for all. A time-out names who is missing.
  Values all(int member, Value value, const std::string& what) {
    const auto self = static_cast<std::size_t>(member);
    auto lock = monitor_.lock();
    const std::int64_t number = rounds_[self]++;
    std::shared_ptr<Round>& entry = open_[number];
    if (entry == nullptr) entry = std::make_shared<Round>(members_.size());
    const std::shared_ptr<Round> round = entry;
    round->given[self] = std::move(value);
    instrument().publish(round->known);
    if (++round->count == members_.size()) {
      open_.erase(number);
      auto values = std::make_shared<std::vector<Value>>();
      for (std::optional<Value>& given : round->given) values->push_back(std::move(*given));
      round->values = std::move(values);
      monitor_.changed();
    }
    monitor_.wait(
        lock, members_[self], [&] { return what + " of " + missing(*round); },
        [&] { return round->values != nullptr; });
    instrument().observe(round->known);
    return round->values;
  }

 private:
  struct Round {
    explicit Round(std::size_t members) : given(members) {}
    std::vector<std::optional<Value>> given;
    std::size_t count = 0;
    Values values;
    devices::HostMark known;
  };

  std::string missing(const Round& round) const {
    std::string names;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (!round.given[m].has_value()) names += (names.empty() ? "" : ", ") + members_[m];
    }
    return names;
  }

  RunMonitor& monitor_;
  const std::vector<std::string> members_;
  std::vector<std::int64_t> rounds_;
  std::map<std::int64_t, std::shared_ptr<Round>> open_;
};

}  // namespace redraft::model
