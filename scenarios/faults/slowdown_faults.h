#pragma once
// Roles that are slower than they need be, by work of their devices. Nothing fails, no number changes and no check sees
// it: `redraft bench` says how much, `redraft attribute` where.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

/// Every step of the role takes `percent` longer than the one before it took without: by a kernel on its stream, behind
/// the step, before the exchange or before the optimizer (`at`). 0: nothing.
std::unique_ptr<Fault> makeStretch(JsonReader parameters);
/// A copy of `mebibytes` within the device before every step of a drafter's optimizer, and before every sample that a
/// target queues.
std::unique_ptr<Fault> makeExtraCopy(JsonReader parameters);

}  // namespace redraft::scenarios
