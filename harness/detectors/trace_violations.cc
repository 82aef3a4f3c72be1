// What the audit of the run's trace found. The events' own findings come first: this one either shows the same from the
// other side, or what no event shows. A hand-off that is not waited for is different: races and numbers that differ
// come of it, so it is named before them.
#include <algorithm>
#include <array>
#include <utility>

#include "devices/driver_log.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

/// The check that sees in a trace what a finding says of the events.
struct Counterpart {
  const char* finding;
  const char* check;
};
constexpr std::array kCounterparts = {Counterpart{"streams/race", "A8"}, Counterpart{"affinity/foreign-access", "A4"},
                                      Counterpart{"memory/stray-allocation", "A7"}};

/// The driver call that a finding rests on first.
const DriverCall* callOf(const Evidence& evidence, const reports::Finding& finding) {
  if (finding.evidence.empty()) return nullptr;
  for (const Event& event : evidence.events())
    if (event.head.seq == finding.evidence.front()) return event.as<DriverCall>();
  return nullptr;
}

/// What a launch touches no trace has: only the copies of a foreign access can be seen there.
const TraceCheck* counterpartOf(const Evidence& evidence, const reports::Finding& finding) {
  const DriverCall* call = callOf(evidence, finding);
  if (call != nullptr && call->call == devices::callKindName(devices::CallKind::kLaunch)) return nullptr;
  for (const Counterpart& pair : kCounterparts) {
    if (finding.id != pair.finding) continue;
    for (const TraceCheck& check : evidence.trace.audit->checks)
      if (check.id == pair.check) return &check;
  }
  return nullptr;
}

std::string refusalText(const Evidence& evidence, const reports::Finding& finding, const std::string& status) {
  const auto same = [&](const RefusedCall& call) {
    return call.status == status && call.role == finding.role && call.step == finding.step;
  };
  const auto& refused = evidence.trace.refused;
  const auto found = std::find_if(refused.begin(), refused.end(), same);
  if (found != refused.end()) return "the trace agrees: " + found->record;
  if (!evidence.trace.problem.empty()) return "the trace cannot tell: " + evidence.trace.problem;
  return "the trace contradicts it: in step " + std::to_string(finding.step) + " no call of " +
         (finding.role.empty() ? "a thread without a role" : finding.role) + " was refused with " + status;
}

std::string checkText(const TraceCheck& check) {
  const std::string name = check.id + " " + check.name;
  if (check.state == AuditState::kNotComputable) return "the trace cannot tell: " + name + ": " + check.reason;
  if (check.state == AuditState::kClean) return "the trace contradicts it: " + name + " is clean";
  return "the trace agrees: " + name + " (" + std::to_string(check.count) + ")";
}

/// What the process of this log holds on a device, as the GPU's driver counts it.
void addProcessMemory(const Evidence& evidence, int device, reports::Finding& finding) {
  if (!evidence.memory) return;
  for (const golden::ProcessMemory& process : evidence.memory->processes)
    if (process.device == device)
      finding.details.push_back("process " + std::to_string(process.pid) + " holds " +
                                std::to_string(process.bytes >> 20) + " MiB on GPU " + process.gpu);
}

reports::Finding findingOf(const Evidence& evidence, const TraceCheck& check) {
  const Violation& first = check.violations.front();
  reports::Finding finding;
  finding.id = "affinity/" + check.name;
  finding.title = first.message;
  finding.role = first.role;
  finding.step = first.step;
  if (first.device >= 0) finding.device = first.device;
  for (const Violation& violation : check.violations)
    finding.proofs.push_back({check.id, violation.message, recordText(violation)});
  if (check.count > static_cast<std::int64_t>(check.violations.size()))
    finding.details.push_back("records that prove it, in all: " + std::to_string(check.count));
  if (check.id == "A6") addProcessMemory(evidence, first.device, finding);
  finding.signature = signature(finding, "trace", 0);
  return finding;
}

}  // namespace

Findings detectMissingWait(const Evidence& evidence, const Findings&) {
  if (!evidence.trace.audit) return {};
  for (const TraceCheck& check : evidence.trace.audit->checks) {
    const bool found = check.id == "A8" && check.state == AuditState::kFound;
    if (found && check.violations.front().kind != recordKindName(RecordKind::kRace))
      return {findingOf(evidence, check)};
  }
  return {};
}

Findings detectTraceViolations(const Evidence& evidence, const Findings& before) {
  Findings findings;
  if (!evidence.trace.audit) return findings;
  for (const TraceCheck& check : evidence.trace.audit->checks) {
    const auto named = [&](const reports::Finding& finding) { return finding.id == "affinity/" + check.name; };
    if (check.state == AuditState::kFound && std::none_of(before.begin(), before.end(), named))
      findings.push_back(findingOf(evidence, check));
  }
  return findings;
}

void weighWithTrace(const Evidence& evidence, Findings& findings) {
  if (!evidence.trace.audit) return;
  for (reports::Finding& finding : findings) {
    if (!finding.proofs.empty()) continue;  // the trace's own
    const DriverCall* call = callOf(evidence, finding);
    const TraceCheck* check = counterpartOf(evidence, finding);
    if (call != nullptr && call->status != 0) {
      finding.details.push_back(refusalText(evidence, finding, call->statusName));
    } else if (check != nullptr) {
      finding.details.push_back(checkText(*check));
    }
  }
}

}  // namespace redraft::harness
