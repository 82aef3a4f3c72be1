#pragma once
// The trace that a run left, held to its contract.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/affinity/trace_audit.h"
#include "harness/events.h"
#include "reports/result.h"

namespace redraft::harness {

/// A call that the driver refused, as the trace has it.
struct RefusedCall {
  std::string status;  // "CUDA_ERROR_INVALID_HANDLE"
  std::string role;
  std::int64_t step = -1;
  std::string record;  // which, what it called, and why it was refused
};

struct RunTrace {
  std::optional<TraceAudit> audit;
  std::vector<RefusedCall> refused;
  std::string problem;  // why there is no audit, or why its silence means nothing; "": it is whole
  bool absent = true;   // the run left no trace
};

/// Audits the folder `trace` of a run by the contract that was planned for it, in terms of the devices that its events
/// name. A trace that cannot be read is a problem, not an error; none where the run said that it records none is not.
RunTrace auditRunTrace(const std::string& runFolder, const Contract& planned, const std::vector<Event>& events);

/// The planned contract where `run.begin` says that the devices are, for the roles that it says are this process's:
/// what another process may do on its devices, this one may not. Throws Error(kBadInput) where they are not.
Contract contractOfRun(const Contract& planned, const std::vector<Event>& events);

/// Why the silence of an audit means nothing: the part of the coverage gate that does not hold, or that the trace
/// cannot show to hold. Canaries (G7) are for captures that may miss what happened: a driver's log does not. "": it
/// holds.
std::string gateProblem(const TraceAudit& audit);

/// The first problem of a run's processes, by rank; "": there is none.
std::string problemOf(const std::map<int, RunTrace>& ranks);

/// What every report shows of the traces of a run's processes, by rank: what was found in any, what is clean in all.
reports::AuditSummary summaryOf(const std::map<int, RunTrace>& ranks);

}  // namespace redraft::harness
