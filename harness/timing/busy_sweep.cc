#include "harness/timing/busy_sweep.h"

#include <algorithm>

namespace redraft::harness {

void BusySweep::run() {
  if (work_.empty()) return;
  now_ = work_.front().begin;
  for (std::uint32_t number = 0; number < work_.size(); ++number) {
    const std::int64_t begin = work_[number].begin;
    finishUntil(begin);
    if (running()) {
      advance(begin);
    } else if (now_ < begin) {
      uses_.idle(now_, begin, number);
      now_ = begin;
    }
    start(number);
  }
  while (running()) finishUntil(ends_.top().first);
}

void BusySweep::start(std::uint32_t number) {
  const TimedWork& work = work_[number];
  if (work.end <= work.begin) return;  // takes no time, but ends a gap
  active_[static_cast<std::size_t>(work.part)].insert(number);
  ends_.emplace(work.end, number);
}

void BusySweep::finishUntil(std::int64_t time) {
  while (running() && ends_.top().first <= time) {
    const auto [end, number] = ends_.top();
    advance(end);
    ends_.pop();
    active_[static_cast<std::size_t>(work_[number].part)].erase(number);
  }
}

void BusySweep::advance(std::int64_t to) {
  if (to <= now_) return;
  const auto winner = std::find_if(active_.begin(), active_.end(), [](const auto& part) { return !part.empty(); });
  sharing_.clear();
  for (const std::uint32_t number : *winner) {
    if (sharing_.size() == kMaxShared) break;
    sharing_.push_back(work_[number].group);
  }
  uses_.busy(now_, to, static_cast<TimePart>(winner - active_.begin()), sharing_);
  now_ = to;
}

}  // namespace redraft::harness
