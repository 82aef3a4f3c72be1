#pragma once
// A role that uses what it is handed without waiting for it. Whether a number changes is a matter of luck: on simulated
// devices none does, because work runs at once.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

std::unique_ptr<Fault> makeMissingWait(JsonReader parameters);

}  // namespace redraft::scenarios
