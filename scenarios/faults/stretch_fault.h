#pragma once
// A role that is slower than it need be, by a share of its own time. Nothing fails, no number changes and no check sees
// it: only `redraft bench` does.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

/// Every step of the role takes `percent` longer, its device waited for. 0: the wait alone, to compare the others with.
std::unique_ptr<Fault> makeStretch(JsonReader parameters);

}  // namespace redraft::scenarios
