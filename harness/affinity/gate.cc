#include <algorithm>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

TraceCheck nothingDropped(const TraceIndex& index) {
  CheckBuilder check(index, "G1", "dropped", "no record was lost");
  const auto& files = index.trace().files;
  for (const TraceFile& file : files) {
    if (!file.capture.dropped) return check.notComputable("the capture does not say how many records it lost");
    if (*file.capture.dropped == 0) continue;
    TraceRecord none;
    none.file = static_cast<std::uint16_t>(&file - files.data());
    check.violation(none, std::to_string(*file.capture.dropped) + " records were lost");
  }
  return check.done();
}

TraceCheck wholeRecords(const TraceIndex& index) {
  CheckBuilder check(index, "G2", "whole-records",
                     "all device work has a time, a device, a context, a stream and a correlation");
  index.eachWork([&](const TraceRecord& work) {
    if (work.startNs == 0 && work.durationNs == 0)
      return check.violation(work, "begins and ends at 0: it was not timed");
    const char* lacks = work.device < 0        ? "device"
                        : work.context < 0     ? "context"
                        : work.stream < 0      ? "stream"
                        : work.correlation < 0 ? "correlation"
                                               : nullptr;
    if (lacks != nullptr) check.violation(work, std::string("has no ") + lacks);
  });
  return check.done();
}

TraceCheck launchesHaveWork(const TraceIndex& index) {
  CheckBuilder check(index, "G3", "launches-have-work", "every launch left device work");
  if (index.count(RecordKind::kApi) == 0) return check.notComputable("the trace has no API calls");
  index.each(RecordKind::kApi, [&](const TraceRecord& call) {
    if (launchesWork(index.trace().text(call.name)) && !index.hasWork(call))
      check.violation(call, "no device work has its correlation " + std::to_string(call.correlation));
  });
  return check.done();
}

TraceCheck workHasLaunch(const TraceIndex& index) {
  CheckBuilder check(index, "G4", "work-has-call", "all device work has the call that issued it");
  if (index.count(RecordKind::kApi) == 0) return check.notComputable("the trace has no API calls");
  index.eachWork([&](const TraceRecord& work) {
    if (index.callOf(work) == nullptr)
      check.violation(work, "no API call has its correlation " + std::to_string(work.correlation));
  });
  return check.done();
}

TraceCheck correlationsAreUnique(const TraceIndex& index) {
  CheckBuilder check(index, "G5", "correlation", "a correlation belongs to one call");
  for (const TraceRecord* call : index.ambiguousCalls())
    check.violation(*call, "another call has its correlation " + std::to_string(call->correlation) +
                               ": whose work it is cannot be told");
  return check.done();
}

TraceCheck timesFollow(const TraceIndex& index) {
  CheckBuilder check(index, "G6", "slack", "no device work begins before the call that issued it");
  if (index.count(RecordKind::kApi) == 0) return check.notComputable("the trace has no API calls");
  index.eachWork([&](const TraceRecord& work) {
    const TraceRecord* call = index.callOf(work);
    if (call != nullptr && work.startNs < call->startNs)
      check.violation(work, "began " + std::to_string(call->startNs - work.startNs) + " ns before its call");
  });
  return check.done();
}

TraceCheck canariesSeen(const TraceIndex& index) {
  CheckBuilder check(index, kCanaryCheck, "canaries",
                     "what the capture planted was recorded: a peer copy, and one each of A1, A3, A6");
  for (const TraceFile& file : index.trace().files) {
    const auto& seen = file.capture.canaries;
    if (seen.empty()) return check.notComputable("the capture planted none");
    for (const char* canary : {"peer_copy", "A1", "A3", "A6"}) {
      if (std::find(seen.begin(), seen.end(), canary) == seen.end())
        return check.notComputable(std::string("the capture did not plant ") + canary);
    }
  }
  return check.done();
}

}  // namespace

std::vector<TraceCheck> coverageGate(const TraceIndex& index) {
  return {nothingDropped(index),        wholeRecords(index), launchesHaveWork(index), workHasLaunch(index),
          correlationsAreUnique(index), timesFollow(index),  canariesSeen(index)};
}

}  // namespace redraft::harness
