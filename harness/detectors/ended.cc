// How the child ended, where its record does not say it: stood still, or gone without run.end.
#include <algorithm>

#include "harness/attribution.h"
#include "harness/detectors/detectors.h"
#include "harness/judge.h"

namespace redraft::harness {
namespace {

/// The newest sync point of every role, oldest first: what stood still longest is at the top.
std::vector<Seen<SyncMark>> lastMarks(const Evidence& evidence) {
  std::map<std::string, Seen<SyncMark>> last;
  for (const Event& event : evidence.events())
    if (const SyncMark* mark = event.as<SyncMark>()) last[event.head.role] = {&event.head, mark};
  std::vector<Seen<SyncMark>> marks;
  for (const auto& [role, mark] : last) marks.push_back(mark);
  std::sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.head->seq < b.head->seq; });
  return marks;
}

std::string markText(const Seen<SyncMark>& mark) {
  const std::string role = mark.head->role.empty() ? "no role" : mark.head->role;
  return role + ": " + mark.body->point + " " + std::to_string(mark.body->object) + " in step " +
         std::to_string(mark.head->step) + (mark.head->phase.empty() ? "" : ", " + mark.head->phase) + ", at " +
         std::to_string(mark.head->nanos / 1'000'000) + " ms (event " + std::to_string(mark.head->seq) + ")";
}

/// From the line with which the runner's crash handler begins, else the whole tail.
std::vector<std::string> stackLines(const Evidence& evidence) {
  const auto isHead = [](const std::string& line) { return line.find("ended by SIG") != std::string::npos; };
  const auto head = std::find_if(evidence.logTail.begin(), evidence.logTail.end(), isHead);
  return head == evidence.logTail.end() ? evidence.logTail : std::vector<std::string>(head, evidence.logTail.end());
}

bool endsWhole(const Evidence& evidence) {
  return !evidence.events().empty() && evidence.events().back().as<RunEnd>() != nullptr;
}

}  // namespace

Findings detectNoProgress(const Evidence& evidence, const Findings&) {
  const Stop stop = evidence.seen.stop;
  if (stop != Stop::kNoProgress && stop != Stop::kTimeLimit) return {};
  const std::vector<Seen<SyncMark>> marks = lastMarks(evidence);
  reports::Finding finding;
  if (!marks.empty()) finding = findingAt("", *marks.front().head);
  finding.id = stop == Stop::kNoProgress ? "hang/no-progress" : "hang/time-limit";
  finding.title = stop == Stop::kNoProgress ? "no progress mark for the scenario's limit"
                                            : "the run took longer than the scenario's limit";
  if (!finding.role.empty()) finding.title += "; " + finding.role + " stands still longest";
  for (const Seen<SyncMark>& mark : marks) finding.details.push_back(markText(mark));
  for (const std::string& thread : evidence.seen.threads) finding.details.push_back(thread);
  for (const std::string& line : stackLines(evidence)) finding.details.push_back(line);
  finding.signature = signature(finding, "hang", 0);
  return {finding};
}

Findings detectCrash(const Evidence& evidence, const Findings&) {
  const Observation& seen = evidence.seen;
  if (seen.stop != Stop::kNone || brokeItsRecord(seen)) return {};
  const int status = endsWhole(evidence) ? (evidence.events().back().as<RunEnd>()->outcome == "completed" ? 0 : 1) : -1;
  if (!seen.end.signalled && seen.end.code == status) return {};
  if (!endsWhole(evidence) && refusedToRun(seen.end)) return {};  // the runner said why, and no crash it was
  reports::Finding finding;
  if (!evidence.events().empty()) {
    const auto marks = lastMarks(evidence);
    finding = findingAt("", marks.empty() ? evidence.events().back().head : *marks.back().head);
  }
  finding.id = seen.end.signalled ? "crash/signal" : "crash/exit";
  finding.title = "the child ended " + std::string(endsWhole(evidence) ? "after" : "without") +
                  " its end record: " + seen.end.text();
  finding.details = stackLines(evidence);
  // The newest mark says where the program was, not who crashed: another role may have marked in between. It is shown,
  // and is no part of what a replay compares.
  reports::Finding unplaced;
  unplaced.id = finding.id;
  finding.signature = signature(unplaced, seen.end.text(), seen.end.code);
  return {finding};
}

}  // namespace redraft::harness
