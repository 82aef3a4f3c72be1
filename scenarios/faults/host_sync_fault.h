#pragma once
// A role that waits for its device where it need not. Nothing fails and no number changes: only a trace shows it.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

/// Before every sample that a target queues, and before every step of a drafter's optimizer.
std::unique_ptr<Fault> makeHostSync(JsonReader parameters);

}  // namespace redraft::scenarios
