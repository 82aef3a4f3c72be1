// How a run ended: what each role waited in, what was thrown or refused, the stacks.
#include <algorithm>
#include <map>

#include "harness/page/parts.h"
#include "harness/role_marks.h"
#include "harness/run_folder.h"
#include "harness/runner_stacks.h"
#include "harness/symbolise.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kLogLines = 40, kStackLines = 1000, kMaxStacks = 32, kMaxFailures = 8;

/// "step(long)" of "PROGRAM(_ZN…+0x51f)[0x55…]"; lines that are no such frame as they are.
std::string frameText(const std::string& line) {
  const std::size_t open = line.find("(_Z"), plus = line.find('+', open);
  if (open == std::string::npos || plus == std::string::npos) return line;
  return demangle(line.substr(open + 1, plus - open - 1));
}

std::vector<std::string> frameTexts(const std::vector<std::string>& lines) {
  std::vector<std::string> texts;
  for (const std::string& line : lines) texts.push_back(frameText(line));
  return texts;
}

std::string tensorText(const ForeignRange& range) {
  return range.name + " (device " + std::to_string(range.device) + ", " + std::to_string(range.bytes) + " bytes, " +
         (range.written ? "written" : "read") + ")";
}

std::string launchText(const DriverCall& launch) {
  std::string text = launch.name + " on device " + std::to_string(launch.device);
  if (launch.objectDevice >= 0 && launch.objectDevice != launch.device)
    text += ", loaded on device " + std::to_string(launch.objectDevice);
  if (launch.status != 0) text += ": " + launch.statusName + (launch.detail.empty() ? "" : ", " + launch.detail);
  return text;
}

/// The last launch of the exception's role before it, and what that used of other devices.
void addLaunch(const std::vector<Event>& events, const EventHead& at, reports::FailureView& failure) {
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const DriverCall* call = event->as<DriverCall>();
    if (call == nullptr || call->call != "launch" || event->head.seq > at.seq || event->head.role != at.role) continue;
    failure.launch = launchText(*call);
    for (const ForeignRange& range : call->foreign) failure.tensors.push_back(tensorText(range));
    return;
  }
}

reports::FailureView failureOf(int rank, const std::vector<Event>& events, const EventHead& head,
                               const ExceptionSeen& seen) {
  reports::FailureView failure;
  failure.rank = rank;
  failure.what = seen.what;
  failure.exception = seen.exception;
  failure.call = seen.call;
  if (seen.status) failure.status = std::to_string(*seen.status);
  failure.role = head.role;
  failure.phase = head.phase;
  failure.step = head.step;
  failure.device = seen.device.value_or(-1);
  failure.event = head.seq;
  failure.blames = seen.rank.value_or(-1);
  failure.frames = seen.stack;
  addLaunch(events, head, failure);
  return failure;
}

/// The newest events of one role.
struct RoleState {
  std::int64_t device = -1, lastNanos = 0;
  const EventHead* head = nullptr;
  const SyncMark* mark = nullptr;
  bool ended = false;
};

std::map<std::string, RoleState> statesOf(const std::vector<Event>& events) {
  std::map<std::string, RoleState> states;
  for (const Event& event : events) {
    if (event.head.role.empty()) continue;
    RoleState& state = states[event.head.role];
    state.lastNanos = event.head.nanos;
    if (const RoleBegin* begin = event.as<RoleBegin>()) state.device = begin->device;
    if (event.as<RoleEnd>() != nullptr) state.ended = true;
    if (const SyncMark* mark = event.as<SyncMark>()) {
      state.head = &event.head;
      state.mark = mark;
    }
  }
  return states;
}

reports::RoleEnding endingOfRole(int rank, const std::string& role, const RoleState& state, double seconds) {
  reports::RoleEnding ending;
  ending.rank = rank;
  ending.role = role;
  ending.device = state.device;
  ending.ended = state.ended;
  ending.silentSeconds = reports::rounded(std::max(0.0, seconds - static_cast<double>(state.lastNanos) * 1e-9), 4);
  if (state.mark == nullptr) return ending;
  ending.point = state.mark->point;
  ending.object = state.mark->object;
  ending.waits = waitsForOthers(*state.mark);
  ending.phase = state.head->phase;
  ending.step = state.head->step;
  ending.event = state.head->seq;
  return ending;
}

void addStacks(const RankRecord& rank, reports::Ending& ending) {
  for (const RunnerStack& stack : runnerStacks(logTail(rank.folder, kStackLines)))
    if (ending.stacks.size() < kMaxStacks)
      ending.stacks.push_back({rank.rank, stack.thread, stack.fatal, frameTexts(stack.lines)});
}

}  // namespace

std::optional<reports::Ending> endingOf(const std::vector<RankRecord>& ranks, const reports::CaseResult& result) {
  using reports::Verdict;
  const bool cut = result.verdict == Verdict::kHung || result.verdict == Verdict::kCrashed;
  reports::Ending ending;
  for (const RankRecord& rank : ranks) {
    for (const Event& event : rank.events) {
      const ExceptionSeen* seen = event.as<ExceptionSeen>();
      if (seen != nullptr && ending.failures.size() < kMaxFailures)
        ending.failures.push_back(failureOf(rank.rank, rank.events, event.head, *seen));
    }
    if (!cut) continue;
    for (const auto& [role, state] : statesOf(rank.events))
      ending.roles.push_back(endingOfRole(rank.rank, role, state, result.figures.seconds));
    addStacks(rank, ending);
    const std::vector<std::string> log = logTail(rank.folder, kLogLines);
    ending.log.insert(ending.log.end(), log.begin(), log.end());
  }
  if (!cut && ending.failures.empty()) return std::nullopt;
  std::stable_partition(ending.failures.begin(), ending.failures.end(),
                        [](const reports::FailureView& failure) { return failure.blames < 0; });
  // Who waits for nobody is who the others wait for.
  std::stable_sort(ending.roles.begin(), ending.roles.end(), [](const auto& a, const auto& b) {
    return std::pair(a.ended, a.waits) < std::pair(b.ended, b.waits);
  });
  return ending;
}

}  // namespace redraft::harness
