#pragma once
// The affinity audit of a trace: the coverage gate, then the checks A1–A14. Pure. docs/audit.md says what each finds.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/affinity/contract.h"
#include "harness/audit_state.h"
#include "harness/trace/trace.h"

namespace redraft::harness {

/// What was found, and the record that proves it. Absent members as in TraceRecord.
struct Violation {
  std::string message;
  std::string file;
  std::uint64_t event = 0, place = 0;  // TraceRecord::index and ::place
  std::string kind, name;
  std::int64_t startNs = 0;
  std::int32_t device = -1, context = -1, stream = -1;
  std::int64_t thread = -1, step = -1;
  std::string role;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("message", message);
    visit("file", file);
    visit("event", event);
    visit("place", place);
    visit("kind", kind);
    visit("name", name);
    visit("ts_ns", startNs);
    visit.unless("device", device, -1);
    visit.unless("context", context, -1);
    visit.unless("stream", stream, -1);
    visit.unless("thread", thread, -1);
    visit.unless("step", step, -1);
    visit.unless("role", role, "");
  }
};

struct TraceCheck {
  std::string id, name, title;  // "A1", "wrong-device", what holds when it is clean
  AuditState state = AuditState::kClean;
  std::int64_t count = 0;             // of violations
  std::string reason;                 // why it is not computable, or only in part
  std::vector<Violation> violations;  // the first few by step and role, whoever was faster
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("id", id);
    visit("name", name);
    visit("title", title);
    visit("state", state);
    visit("count", count);
    visit.unless("reason", reason, "");
    visit("violations", violations);
  }
};

inline constexpr const char* kCanaryCheck = "G7";

struct TraceAudit {
  std::vector<std::string> files;
  std::uint64_t events = 0, records = 0;
  bool contract = false;  // there was one
  /// What must hold for silence to mean something. When any of it does not, no check comes out clean.
  std::vector<TraceCheck> gate;
  std::vector<TraceCheck> checks;  // A1 to A14
  bool foundAny() const;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("files", files);
    visit("events", events);
    visit("records", records);
    visit("contract", contract);
    visit("gate", gate);
    visit("checks", checks);
  }
};

/// `contract` may be null: checks that need one are then not computable.
TraceAudit auditTrace(const Trace& trace, const Contract* contract);

/// The contract that a good trace fulfils: each role, or each group of threads that share a device, with what it used.
/// Throws Error(kBadInput) when the trace holds no device work.
Contract inferContract(const Trace& trace);

/// Where a record is: file, number or byte, kind, name, time, device, context, stream, thread, step, role.
std::string recordText(const Violation& violation);

/// For people.
std::string auditText(const TraceAudit& audit);

}  // namespace redraft::harness
