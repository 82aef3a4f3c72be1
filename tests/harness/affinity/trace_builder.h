#pragma once
// Traces for the tests of the audit: two roles, a device, context and stream each, and what a test adds.

#include <string>
#include <utility>

#include "harness/affinity/trace_audit.h"

namespace redraft::testing_support {

class TraceBuilder {
 public:
  /// A capture that says all of itself: nothing lost, every kind, all canaries seen.
  TraceBuilder() {
    harness::TraceFile& file = trace.files.emplace_back();
    file.path = "built.json";
    file.capture = {"cupti", 42, 0, {}, {"peer_copy", "A1", "A3", "A6"}};
    for (int kind = 0; kind < harness::kRecordKinds; ++kind)
      file.capture.kinds.emplace_back(harness::recordKindName(static_cast<harness::RecordKind>(kind)));
  }

  /// A capture that says nothing of itself, as any other tool's.
  TraceBuilder& foreign() {
    trace.files.front().capture = {};
    return *this;
  }

  harness::TraceRecord& add(harness::RecordKind kind, const std::string& name) {
    harness::TraceRecord& record = trace.records.emplace_back();
    record.kind = kind;
    record.name = trace.strings.intern(name);
    record.index = static_cast<std::uint32_t>(trace.records.size() - 1);
    record.place = 100 * trace.records.size();
    record.startNs = now += 1000;
    record.durationNs = 500;
    return record;
  }

  harness::TraceRecord& call(const std::string& name, const std::string& role, std::int64_t thread) {
    harness::TraceRecord& record = add(harness::RecordKind::kApi, name);
    record.role = trace.strings.intern(role);
    record.thread = thread;
    record.correlation = ++correlation;
    return record;
  }

  /// Work on `device`, in context device + 1, with the call that issued it.
  harness::TraceRecord& work(harness::RecordKind kind, const std::string& name, const std::string& role, int device,
                             int stream = 7) {
    call(kind == harness::RecordKind::kKernel ? "cudaLaunchKernel" : "cudaMemcpyAsync", role, 10 + device);
    harness::TraceRecord& record = add(kind, name);
    record.device = device;
    record.context = device + 1;
    record.stream = stream;
    record.correlation = correlation;
    record.role = trace.strings.intern(role);
    return record;
  }

  harness::TraceRecord& kernel(const std::string& role, int device, int stream = 7) {
    return work(harness::RecordKind::kKernel, "matmul", role, device, stream);
  }

  harness::TraceRecord& context(int device, std::int64_t thread, int nullStream = 3) {
    harness::TraceRecord& record = add(harness::RecordKind::kContext, "context");
    record.device = device;
    record.context = device + 1;
    record.stream = nullStream;
    record.thread = thread;
    return record;
  }

  harness::TraceRecord& peerCopy(const std::string& role, int from, int to, std::int64_t bytes = 64) {
    harness::TraceRecord& record =
        work(harness::RecordKind::kPeerCopy, "Memcpy PtoP (Device -> Device)", role, from, 20);
    record.fromDevice = from;
    record.toDevice = to;
    record.bytes = bytes;
    return record;
  }

  harness::Trace trace;
  std::int64_t now = 1'000'000;
  std::int64_t correlation = 0;
};

/// Target on device 0, drafter on device 1, and the hand-over between them.
inline harness::Contract twoRoles() {
  harness::Contract contract;
  contract.roles["target"].devices = {0};
  contract.roles["target"].streams = {{1, 7}};
  contract.roles["drafter"].devices = {1};
  contract.roles["drafter"].streams = {{2, 7}};
  contract.roles["drafter"].copies = {{0, 1, true, 100.0}};
  contract.roles["drafter"].setDevice = 1;
  return contract;
}

inline harness::TraceCheck checkOf(const harness::TraceAudit& audit, const std::string& id) {
  for (const auto* list : {&audit.gate, &audit.checks})
    for (const harness::TraceCheck& check : *list)
      if (check.id == id) return check;
  return {};
}

inline harness::TraceCheck checkOf(const TraceBuilder& built, const std::string& id,
                                   const harness::Contract& contract = twoRoles()) {
  return checkOf(harness::auditTrace(built.trace, &contract), id);
}

}  // namespace redraft::testing_support
