#include "harness/judge.h"

#include "base/text.h"

namespace redraft::harness {
namespace {

using reports::Verdict;

constexpr int kExitFailed = 1, kExitBadInput = 2, kExitEnvironment = 3, kExitUnsupported = 4;

const RunEnd* endOf(const EventLog& log) { return log.events.empty() ? nullptr : log.events.back().as<RunEnd>(); }

/// What the runner said last, without its prefix; all that it said where it has none.
std::string refusalOf(const std::vector<std::string>& logTail) {
  constexpr std::string_view kPrefix = "redraft: error: ";
  for (auto line = logTail.rbegin(); line != logTail.rend(); ++line)
    if (line->starts_with(kPrefix)) return line->substr(kPrefix.size());
  return join(logTail, "; ");
}

Judgement judgeWithoutEnd(const JudgeInput& input) {
  const Observation& seen = input.evidence.seen;
  if (refusedToRun(seen.end)) {
    // It says so before it records anything; a run that began and ends so is not skipped.
    if (seen.end.code == kExitUnsupported && seen.log.events.empty())
      return {Verdict::kSkipped, refusalOf(input.evidence.logTail)};
    const std::string why = seen.end.code == kExitBadInput ? "bad input: " : "the environment: ";
    return {Verdict::kError, why + join(input.evidence.logTail, "; ")};
  }
  return {Verdict::kCrashed, seen.log.problem};  // that it crashed, and how, is a finding
}

Judgement judgeCompleted(const JudgeInput& input) {
  if (!input.recordProblem.empty()) return {Verdict::kError, "the record is not whole: " + input.recordProblem};
  if (input.recordSteps != input.plannedSteps)
    return {Verdict::kError,
            "the record has " + std::to_string(input.recordSteps) + " steps of " + std::to_string(input.plannedSteps)};
  if (!input.findings.empty()) return {Verdict::kFailed, ""};
  if (!input.auditProblem.empty()) return {Verdict::kError, "the audit of its trace is invalid: " + input.auditProblem};
  if (!input.wantsGolden) return {Verdict::kPassed, ""};
  const auto& comparison = input.evidence.comparison;
  if (!comparison && input.evidence.across) return {Verdict::kPassed, ""};  // beyond its bounds it is a finding
  if (!comparison) return {Verdict::kIncomparable, input.goldenProblem};
  if (comparison->outcome == golden::Outcome::kIncomparable) return {Verdict::kIncomparable, comparison->reason};
  return {Verdict::kPassed, ""};
}

}  // namespace

bool completed(const Observation& seen) {
  const RunEnd* end = endOf(seen.log);
  return seen.stop == Stop::kNone && seen.log.problem.empty() && end != nullptr && end->outcome == "completed" &&
         !seen.end.signalled && seen.end.code == 0;
}

bool brokeItsRecord(const Observation& seen) {
  if (seen.log.problem.empty()) return false;
  return seen.stop == Stop::kBrokenRecord ||
         (seen.stop == Stop::kNone && !seen.end.signalled && seen.end.code <= kExitFailed);
}

bool refusedToRun(const ChildEnd& end) {
  return !end.signalled && kExitBadInput <= end.code && end.code <= kExitUnsupported;
}

Judgement judge(const JudgeInput& input) {
  const Observation& seen = input.evidence.seen;
  if (completed(seen)) return judgeCompleted(input);
  if (seen.stop == Stop::kInterrupted) return {Verdict::kAborted, "interrupted"};
  if (brokeItsRecord(seen)) return {Verdict::kError, "the event log is broken: " + seen.log.problem};
  if (seen.stop != Stop::kNone) return {Verdict::kHung, ""};
  const RunEnd* end = endOf(seen.log);
  if (end == nullptr) return judgeWithoutEnd(input);
  if (seen.end.signalled || end->outcome == "completed" || seen.end.code != kExitFailed) return {Verdict::kCrashed, ""};
  if (end->outcome != "failed")
    return {Verdict::kError, "run.end with the outcome \"" + printable(end->outcome) + "\""};
  if (input.findings.empty()) return {Verdict::kError, "the run says that it failed, and recorded no reason"};
  return {Verdict::kFailed, ""};
}

}  // namespace redraft::harness
