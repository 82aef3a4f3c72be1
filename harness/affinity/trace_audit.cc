#include "harness/affinity/trace_audit.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kMaxViolations = 5;  // shown of one check

constexpr std::array kChecks = {checkWrongDevice,    checkWrongStream,    checkDefaultStream,   checkCopyEdge,
                                checkStagedCopy,     checkStrayContext,   checkWrongAllocation, checkMissingWait,
                                checkHostSync,       checkNccl,           checkModule,          checkGraph,
                                checkDeviceFlapping, checkUndeclaredActor};

bool isFound(const TraceCheck& check) { return check.state == AuditState::kFound; }

/// All checks and the gate, on two threads: each only reads the index.
std::vector<TraceCheck> runChecks(const TraceIndex& index, std::vector<TraceCheck>& gate) {
  std::vector<TraceCheck> results(kChecks.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < kChecks.size(); i = next++) results[i] = kChecks[i](index);
  };
  std::future<void> helper = std::async(std::launch::async, work);
  gate = coverageGate(index);
  work();
  helper.get();
  return results;
}

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view beginning) { return text.starts_with(beginning); });
}

}  // namespace

bool launchesWork(std::string_view call) {
  return startsWithAny(call, {"cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchCooperativeKernel",
                              "cuLaunchCooperativeKernel", "cudaGraphLaunch", "cuGraphLaunch"});
}

bool waitsForDevice(std::string_view call) {
  if (call.find("Async") != std::string_view::npos) return false;
  return startsWithAny(call, {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
                              "cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cudaMemcpy", "cuMemcpy",
                              "cudaMalloc", "cudaFree", "cuMemAlloc", "cuMemFree"}) &&
         !startsWithAny(call, {"cudaMallocHost", "cudaFreeHost", "cuMemAllocHost", "cuMemFreeHost"});
}

bool isToHost(std::string_view copy) { return copy.starts_with("Memcpy DtoH"); }
bool isToDevice(std::string_view copy) { return copy.starts_with("Memcpy HtoD"); }

bool isGreen(const TraceIndex& index, const TraceRecord& context) {
  return index.trace().text(context.name).starts_with(kGreenContext);
}

bool setsDevice(std::string_view call) { return startsWithAny(call, {"cudaSetDevice", "cuCtxSetCurrent"}); }

std::string deviceText(std::int32_t device) { return device < 0 ? "the host" : "device " + std::to_string(device); }

std::string listText(const std::vector<std::int32_t>& devices) {
  std::vector<std::string> texts;
  for (const std::int32_t device : devices) texts.push_back(std::to_string(device));
  return "[" + join(texts, ", ") + "]";
}

CheckBuilder::CheckBuilder(const TraceIndex& index, std::string id, std::string name, std::string title)
    : index_(index) {
  check_.id = std::move(id);
  check_.name = std::move(name);
  check_.title = std::move(title);
}

bool CheckBuilder::showsMore() const { return static_cast<std::size_t>(check_.count) < kMaxViolations; }

void CheckBuilder::violation(const TraceRecord& record, std::string message) {
  ++check_.count;
  auto& shown = check_.violations;
  const std::int64_t step = index_.stepOf(record);
  const std::string& role = index_.roleOf(record);
  const auto later = [&](const Violation& other) { return std::tie(other.step, other.role) > std::tie(step, role); };
  const auto at = std::find_if(shown.begin(), shown.end(), later) - shown.begin();
  if (static_cast<std::size_t>(at) == kMaxViolations) return;
  if (shown.size() == kMaxViolations) shown.pop_back();
  Violation found;
  found.message = std::move(message);
  found.file = index_.trace().files[record.file].path;
  found.event = record.index;
  found.place = record.place;
  found.kind = recordKindName(record.kind);
  found.name = index_.trace().text(record.name);
  found.startNs = record.startNs;
  found.device = record.device;
  found.context = record.context;
  found.stream = record.stream;
  found.thread = record.thread;
  found.step = step;
  found.role = role;
  shown.insert(shown.begin() + at, std::move(found));
}

TraceCheck CheckBuilder::notComputable(std::string reason) {
  check_.state = check_.count > 0 ? AuditState::kFound : AuditState::kNotComputable;
  check_.reason = std::move(reason);
  return std::move(check_);
}

TraceCheck CheckBuilder::done() {
  check_.state = check_.count > 0 ? AuditState::kFound : AuditState::kClean;
  return std::move(check_);
}

bool TraceAudit::foundAny() const {
  return std::any_of(gate.begin(), gate.end(), isFound) || std::any_of(checks.begin(), checks.end(), isFound);
}

TraceAudit auditTrace(const Trace& trace, const Contract* contract) {
  const TraceIndex index(trace, contract);
  TraceAudit audit;
  audit.contract = contract != nullptr;
  audit.records = trace.records.size();
  for (const TraceFile& file : trace.files) {
    audit.files.push_back(file.path);
    audit.events += file.events;
  }
  audit.checks = runChecks(index, audit.gate);
  const auto hole = std::find_if(audit.gate.begin(), audit.gate.end(), isFound);
  for (TraceCheck& result : audit.checks) {
    if (result.state == AuditState::kClean && hole != audit.gate.end()) {
      result.state = AuditState::kNotComputable;
      result.reason = "nothing was found, but the trace is not whole (" + hole->id + " " + hole->name + ")";
    }
  }
  return audit;
}

}  // namespace redraft::harness
