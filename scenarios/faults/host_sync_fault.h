#pragma once
// A role that waits for its device where it need not. Nothing fails and no number changes: only a trace shows it.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

std::unique_ptr<Fault> makeHostSync(JsonReader parameters);  // before every sample that the role queues

}  // namespace redraft::scenarios
