#pragma once
// Faults of the compiled-kernel cache's policy: its key, and what call sites pass to it.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

/// One process-wide handle for each artefact of the drafters, as a module-global compiled function keeps it. The call
/// sites pass their device, and the key ignores it.
std::unique_ptr<Fault> makeSharedKernelCache(JsonReader parameters);

/// The first half of the reported remedy: the key takes a device, and no call site passes one.
std::unique_ptr<Fault> makeHalfFix(JsonReader parameters);

}  // namespace redraft::scenarios
