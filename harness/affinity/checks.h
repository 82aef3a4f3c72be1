#pragma once
// How checks are written: one function a check, over the index of a trace.

#include <string>
#include <string_view>
#include <vector>

#include "harness/affinity/trace_audit.h"
#include "harness/affinity/trace_index.h"

namespace redraft::harness {

/// Collects what one check finds.
class CheckBuilder {
 public:
  CheckBuilder(const TraceIndex& index, std::string id, std::string name, std::string title);

  void violation(const TraceRecord& record, std::string message);
  /// False when enough were found for the costly part of another's message to be left out.
  bool showsMore() const;
  /// Ends the check as not computable, unless something was found: then the reason says what was not looked at.
  TraceCheck notComputable(std::string reason);
  /// Ends it: found, or clean.
  TraceCheck done();

 private:
  const TraceIndex& index_;
  TraceCheck check_;
};

inline constexpr const char* kNeedsContract =
    "needs a contract (--contract FILE; --infer writes one from a good trace)";

/// "device 3"; "[0, 1]".
std::string deviceText(std::int32_t device);
std::string listText(const std::vector<std::int32_t>& devices);

/// What a call of the runtime or driver API does, by its name.
bool launchesWork(std::string_view call);  // kernels and graphs: each leaves device work
bool waitsForDevice(std::string_view call);
bool setsDevice(std::string_view call);

/// The two halves of a copy that goes through the host, by a record's name.
bool isToHost(std::string_view copy);
bool isToDevice(std::string_view copy);

/// A context of part of a device's multiprocessors, within the device's primary one.
bool isGreen(const TraceIndex& index, const TraceRecord& context);

/// The host waits for a device within a step (where there are steps): a call, or where no calls were recorded a
/// synchronisation, or a copy from or to pageable memory.
bool isHostWait(const TraceIndex& index, const TraceRecord& record);

std::vector<TraceCheck> coverageGate(const TraceIndex& index);

TraceCheck checkWrongDevice(const TraceIndex& index);
TraceCheck checkWrongStream(const TraceIndex& index);
TraceCheck checkDefaultStream(const TraceIndex& index);
TraceCheck checkCopyEdge(const TraceIndex& index);
TraceCheck checkStagedCopy(const TraceIndex& index);
TraceCheck checkStrayContext(const TraceIndex& index);
TraceCheck checkWrongAllocation(const TraceIndex& index);
TraceCheck checkMissingWait(const TraceIndex& index);
TraceCheck checkHostSync(const TraceIndex& index);
TraceCheck checkNccl(const TraceIndex& index);
TraceCheck checkModule(const TraceIndex& index);
TraceCheck checkGraph(const TraceIndex& index);
TraceCheck checkDeviceFlapping(const TraceIndex& index);
TraceCheck checkUndeclaredActor(const TraceIndex& index);

}  // namespace redraft::harness
