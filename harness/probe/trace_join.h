#pragma once
// Makes a trace of what a capture gathered: CUPTI's records, one by one, and what callbacks saw beside them. Pure.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/probe/declaration_log.h"
#include "harness/probe/resource_log.h"
#include "harness/trace/trace.h"

namespace redraft::harness {

struct CapturedRecords {
  Trace trace;  // one file, with its capture; records in any order
  std::vector<ResourceEvent> resources;
  Declared declared;
  std::int64_t nestedCalls = 0;  // out: driver calls that the runtime made, left out
};

/// What joins them:
/// - a driver call within a call of the runtime, on one thread, is the runtime's own: it goes, and its work is the
/// outer
///   call's;
/// - contexts take thread, time, role and stack from their event; streams from the event within the call that made
/// them;
/// - waits for an event that no call made go: they are queries;
/// - waits of a green context's stream, which CUPTI gives to the primary context, go to the green one;
/// - device of a stream, a wait and an event: their context's;
/// - time and thread of events, streams and waits: their call's; role, step and phase of anything without: its call's;
/// - ends of hand-offs, roles' own streams and collectives become records, streams without a handle their context's
///   null stream; kernels of NCCL that a thread launched while it issued a collective bear its communicator's name;
/// - threads are named by the first role that called on them.
/// Records are ordered by time and numbered. `stackOf` gives an event's stack as text.
void joinRecords(CapturedRecords& captured, const std::function<std::string(devices::RoleId)>& roleName,
                 const std::function<std::string(const ResourceEvent&)>& stackOf);

}  // namespace redraft::harness
