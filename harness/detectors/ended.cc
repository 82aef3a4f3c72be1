// How the child ended, where its record does not say it: stood still, or gone without run.end.
#include <algorithm>

#include "harness/attribution.h"
#include "harness/detectors/detectors.h"
#include "harness/judge.h"
#include "harness/role_marks.h"

namespace redraft::harness {
namespace {

/// The stack for which `wanted` holds; null when the runner wrote none.
template <class Wanted>
const RunnerStack* findStack(const std::vector<RunnerStack>& stacks, Wanted wanted) {
  const auto found = std::find_if(stacks.begin(), stacks.end(), wanted);
  return found == stacks.end() ? nullptr : &*found;
}

bool isFatal(const RunnerStack& stack) { return stack.fatal; }

/// The newest event of this thread, of those that belong to a role; null when it wrote none.
const EventHead* newestEventOf(const Evidence& evidence, std::int64_t thread) {
  const std::vector<Event>& events = evidence.events();
  const auto newest = std::find_if(events.rbegin(), events.rend(), [&](const Event& event) {
    return event.head.thread == thread && !event.head.role.empty();
  });
  return newest == events.rend() ? nullptr : &newest->head;
}

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

/// Of all marks; the newest event where there is none, null where there is no event.
const EventHead* newestMark(const Evidence& evidence) {
  const std::vector<Event>& events = evidence.events();
  const auto mark =
      std::find_if(events.rbegin(), events.rend(), [](const Event& event) { return event.as<SyncMark>() != nullptr; });
  if (mark != events.rend()) return &mark->head;
  return events.empty() ? nullptr : &events.back().head;
}

bool endsWhole(const Evidence& evidence) {
  return !evidence.events().empty() && evidence.events().back().as<RunEnd>() != nullptr;
}

}  // namespace

Findings detectNoProgress(const Evidence& evidence, const Findings&) {
  const Stop stop = evidence.seen.stop;
  if (stop != Stop::kNoProgress && stop != Stop::kTimeLimit) return {};
  const std::vector<RoleMark> marks = lastMarks(evidence.events());
  reports::Finding finding;
  if (!marks.empty()) finding = findingAt("", *marks.front().head);
  finding.id = stop == Stop::kNoProgress ? "hang/no-progress" : "hang/time-limit";
  finding.title = stop == Stop::kNoProgress ? "no progress mark for the scenario's limit"
                                            : "the run took longer than the scenario's limit";
  if (!finding.role.empty())
    finding.title +=
        "; " + finding.role +
        (waitsForOthers(*marks.front().mark) ? " stands still longest" : " waits for nobody, and stands still");
  if (evidence.seen.suspended) finding.title += "; the process is suspended (SIGSTOP)";
  for (const RoleMark& mark : marks) finding.details.push_back(markText(mark));
  append(finding.details, evidence.seen.threads);
  const RunnerStack* own = findStack(evidence.stacks, [&](const RunnerStack& stack) {
    return stack.thread == threadNameOf(finding.role) && !stack.fatal;
  });
  if (own == nullptr) own = findStack(evidence.stacks, isFatal);
  if (own != nullptr) append(finding.details, own->lines);
  finding.signature = signature(finding, "hang", 0);
  return {finding};
}

Findings detectCrash(const Evidence& evidence, const Findings&) {
  const Observation& seen = evidence.seen;
  if (seen.stop != Stop::kNone || brokeItsRecord(seen)) return {};
  const int status = endsWhole(evidence) ? (evidence.events().back().as<RunEnd>()->outcome == "completed" ? 0 : 1) : -1;
  if (!seen.end.signalled && seen.end.code == status) return {};
  if (!endsWhole(evidence) && refusedToRun(seen.end)) return {};  // the runner said why, and no crash it was
  // Where the crashed thread is not known, or is no role's, the newest mark says where the program was, not who
  // crashed: another role may have marked in between. It is shown, and is no part of what a replay compares.
  const RunnerStack* stack = findStack(evidence.stacks, isFatal);
  const EventHead* own = stack != nullptr ? newestEventOf(evidence, stack->number) : nullptr;
  const EventHead* shown = own != nullptr ? own : newestMark(evidence);
  reports::Finding compared, finding;
  if (own != nullptr) compared = findingAt("", *own);
  if (shown != nullptr) finding = findingAt("", *shown);
  finding.id = compared.id = seen.end.signalled ? "crash/signal" : "crash/exit";
  finding.title = "the child ended " + std::string(endsWhole(evidence) ? "after" : "without") +
                  " its end record: " + seen.end.text();
  finding.details = stack != nullptr ? stack->lines : evidence.logTail;
  finding.signature = signature(compared, seen.end.text(), seen.end.code);
  return {finding};
}

}  // namespace redraft::harness
