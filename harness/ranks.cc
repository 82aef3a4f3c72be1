#include "harness/ranks.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "harness/judge.h"
#include "harness/role_marks.h"

namespace redraft::harness {
namespace {

/// Lower: rather the cause of a standstill.
auto standstillRank(const Observation& seen) {
  const std::vector<RoleMark> marks = lastMarks(seen.log.events);
  const bool waits = !marks.empty() && waitsForOthers(*marks.front().mark);
  const std::int64_t step = marks.empty() ? -1 : marks.front().head->step;
  const bool over = !seen.log.events.empty() && seen.log.events.back().as<RunEnd>() != nullptr;
  return std::tuple(over, !seen.suspended, !marks.empty(), waits, step);
}

/// The first exception; null where there is none.
const ExceptionSeen* exceptionOf(const Observation& seen) {
  const Event* event = seen.log.first<ExceptionSeen>();
  return event == nullptr ? nullptr : event->as<ExceptionSeen>();
}

/// Lower: rather the cause of the run's end.
auto endRank(const Observation& seen) {
  const ExceptionSeen* exception = exceptionOf(seen);
  const bool ownError = exception != nullptr && !exception->rank, blames = exception != nullptr && exception->rank;
  return std::tuple(completed(seen), seen.endedForPeers && !ownError, blames, seen.order);
}

}  // namespace

std::vector<Observation> ranksOf(Observation seen) {
  std::vector<Observation> ranks(1);
  for (Observation& other : seen.others) ranks.push_back(std::move(other));
  seen.others.clear();
  ranks.front() = std::move(seen);
  return ranks;
}

std::string rankLine(const Observation& seen) {
  std::string line = "rank " + std::to_string(seen.rank) + ": ";
  if (seen.suspended) line += "suspended; ";
  const std::vector<RoleMark> marks = lastMarks(seen.log.events);
  if (seen.stop == Stop::kNone) {
    line += seen.end.text() + (seen.endedForPeers ? ", ended because another rank was gone" : "");
  } else if (marks.empty()) {
    line += "no progress mark";
  } else {
    line += "at " + markText(marks.front());
  }
  return line;
}

std::size_t decisiveRank(const std::vector<Observation>& ranks) {
  const Stop stop = ranks.front().stop;
  const bool stoodStill = stop == Stop::kNoProgress || stop == Stop::kTimeLimit;
  if (std::all_of(ranks.begin(), ranks.end(), completed)) return 0;
  const auto first = std::min_element(ranks.begin(), ranks.end(), [&](const Observation& a, const Observation& b) {
    return stoodStill ? standstillRank(a) < standstillRank(b) : endRank(a) < endRank(b);
  });
  return static_cast<std::size_t>(first - ranks.begin());
}

}  // namespace redraft::harness
