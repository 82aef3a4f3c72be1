#include "harness/probe/captured_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "harness/affinity/trace_audit.h"
#include "harness/probe/cupti_loader.h"
#include "harness/trace/driver_trace.h"

namespace redraft::harness {
namespace {

constexpr const char* kRole = "canary";
constexpr std::int32_t kNoDevice = 1 << 20;  // the canary's role may use a device that no machine has

/// What the canary thread did: its calls, their work, its contexts and all that is in them.
class CanaryRecords {
 public:
  CanaryRecords(const Trace& trace, std::int64_t thread) : thread_(thread) {
    for (const TraceRecord& record : trace.records) {
      if (record.thread != thread) continue;
      if (record.kind == RecordKind::kApi && record.correlation >= 0) calls_.insert(record.correlation);
      if (record.kind == RecordKind::kContext) contexts_.insert(record.context);
    }
  }
  bool operator()(const TraceRecord& record) const {
    return record.thread == thread_ || contexts_.contains(record.context) ||
           (record.correlation >= 0 && calls_.contains(record.correlation));
  }

 private:
  std::int64_t thread_;
  std::set<std::int64_t> calls_;
  std::set<std::int32_t> contexts_;
};

std::vector<std::string> seenIn(const Trace& canary) {
  Contract contract;
  contract.roles[kRole].devices = {kNoDevice};
  std::vector<std::string> seen;
  for (const TraceCheck& check : auditTrace(canary, &contract).checks)
    if (check.state == AuditState::kFound && (check.id == "A1" || check.id == "A3" || check.id == "A6"))
      seen.push_back(check.id);
  const bool across = std::any_of(canary.records.begin(), canary.records.end(), [](const TraceRecord& record) {
    return record.kind == RecordKind::kPeerCopy && record.fromDevice != record.toDevice;
  });
  if (across) seen.emplace_back("peer_copy");
  return seen;
}

}  // namespace

void takeCanaries(Trace& trace, const CanaryPlan& plan) {
  if (plan.thread < 0 || trace.files.empty()) return;
  const CanaryRecords isCanary(trace, plan.thread);
  Trace canary;
  canary.strings = trace.strings;
  canary.files = trace.files;
  const StringId role = canary.strings.intern(kRole);
  for (const TraceRecord& record : trace.records) {
    if (!isCanary(record)) continue;
    canary.records.push_back(record);
    canary.records.back().role = role;
  }
  CaptureInfo& capture = trace.files.front().capture;
  const std::vector<std::string> seen = seenIn(canary);
  for (const std::string& planted : plan.planted) {
    if (std::find(seen.begin(), seen.end(), planted) != seen.end())
      capture.canaries.push_back(planted);
    else
      capture.dropped = capture.dropped.value_or(0) + 1;
  }
  std::erase_if(trace.records, isCanary);
  for (TraceRecord& record : trace.records)
    record.place = record.index = static_cast<std::uint32_t>(&record - trace.records.data());
  trace.files.front().events = trace.records.size();
}

CapturedRun::CapturedRun(const CaptureOptions& options) : CapturedRun(startCapture(options)) {}

CapturedRun::CapturedRun(std::unique_ptr<DeviceCapture> capture)
    : capture_(std::move(capture)), canaries_(capture_->plantCanaries()) {}

Trace CapturedRun::stop(StopMode mode) {
  Trace trace = capture_->stop(mode);
  takeCanaries(trace, canaries_);
  return trace;
}

void CapturedRun::writeTo(const std::string& folder, StopMode mode) {
  const Trace trace = stop(mode);
  if (trace.files.empty()) return;  // was stopped already
  writeTraceFolder(trace, folder);
  std::string canaries;
  for (const std::string& seen : trace.files.front().capture.canaries) canaries += " " + seen;
  log(LogLevel::kInfo, "capture: " + std::to_string(trace.records.size()) + " trace records, " +
                           std::to_string(*trace.files.front().capture.dropped) + " lost; " +
                           costText(capture_->cost()) + "; canaries seen:" + (canaries.empty() ? " none" : canaries) +
                           (canaries_.missing.empty() ? "" : " (" + canaries_.missing + ")"));
}

}  // namespace redraft::harness
