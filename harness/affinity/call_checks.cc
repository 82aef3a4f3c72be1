// A9, A13, A14: what the host's threads call.
#include <map>
#include <tuple>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

using RoleStep = std::tuple<std::string, std::int64_t>;

std::string stepText(std::int64_t step) { return step < 0 ? "the trace" : "step " + std::to_string(step); }

}  // namespace

bool isHostWait(const TraceIndex& index, const TraceRecord& record) {
  const std::string& name = index.trace().text(record.name);
  const bool calls = index.count(RecordKind::kApi) > 0;
  const bool waits = (calls && record.kind == RecordKind::kApi && waitsForDevice(name)) ||
                     (!calls && record.kind == RecordKind::kSync && name.find("Wait") == std::string::npos) ||
                     (record.kind == RecordKind::kCopy && record.has(kPageable));
  return waits && (!index.hasSteps() || index.stepOf(record) >= 0);
}

TraceCheck checkHostSync(const TraceIndex& index) {
  CheckBuilder check(index, "A9", "host-sync", "the host waits for a device no more than a step may");
  if (index.count(RecordKind::kApi) == 0 && index.count(RecordKind::kSync) == 0)
    return check.notComputable("the trace has neither API calls nor synchronisations");
  std::map<RoleStep, std::int64_t> waits;
  for (const TraceRecord& record : index.trace().records) {
    if (!isHostWait(index, record)) continue;
    const std::int64_t step = index.hasSteps() ? index.stepOf(record) : -1;
    const RoleContract* role = index.contractOf(record);
    const std::int64_t allowed = role == nullptr ? 0 : role->hostSyncs;
    const std::int64_t nth = ++waits[{index.roleOf(record), step}];
    if (nth <= allowed) continue;
    check.violation(record, index.trace().text(record.name) + " held the host for " +
                                std::to_string(record.durationNs / 1000) + " µs: wait " + std::to_string(nth) + " of " +
                                stepText(step) + ", of " + std::to_string(allowed) + " allowed");
  }
  return check.done();
}

TraceCheck checkDeviceFlapping(const TraceIndex& index) {
  CheckBuilder check(index, "A13", "device-flapping", "a role sets its device no more often than a step may");
  if (index.contract() == nullptr) return check.notComputable(kNeedsContract);
  bool seen = false, limited = false;
  std::map<RoleStep, std::int64_t> calls;
  index.each(RecordKind::kApi, [&](const TraceRecord& call) {
    if (!setsDevice(index.trace().text(call.name))) return;
    seen = true;
    const RoleContract* role = index.contractOf(call);
    if (role == nullptr || !role->setDevice) return;
    limited = true;
    const std::int64_t step = index.hasSteps() ? index.stepOf(call) : -1;
    const std::int64_t nth = ++calls[{index.roleOf(call), step}];
    if (nth > *role->setDevice)
      check.violation(call, "call " + std::to_string(nth) + " of " + stepText(step) + " by " + index.roleOf(call) +
                                ", of " + std::to_string(*role->setDevice) + " allowed");
  });
  if (!seen) return check.notComputable("the trace has no cudaSetDevice calls (Kineto drops them)");
  return limited ? check.done() : check.notComputable("the contract sets no limit (set_device)");
}

TraceCheck checkUndeclaredActor(const TraceIndex& index) {
  CheckBuilder check(index, "A14", "undeclared-actor", "every launch belongs to a declared role");
  if (index.contract() == nullptr && !index.hasRoles()) return check.notComputable(kNeedsContract);
  if (index.count(RecordKind::kApi) == 0) return check.notComputable("the trace has no API calls");
  index.each(RecordKind::kApi, [&](const TraceRecord& call) {
    if (!launchesWork(index.trace().text(call.name))) return;
    const std::string& role = index.roleOf(call);
    if (role.empty())
      check.violation(call, "thread " + std::to_string(call.thread) + " launched, and belongs to no role");
    else if (index.contract() != nullptr && index.contractOf(call) == nullptr)
      check.violation(call, "\"" + role + "\" launched, and is no role of the contract");
  });
  return check.done();
}

}  // namespace redraft::harness
