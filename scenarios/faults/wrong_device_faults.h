#pragma once
// Faults that put work or data of one role on another role's device.

#include <memory>

#include "base/json.h"
#include "scenarios/faults/fault.h"

namespace redraft::scenarios {

/// The block mask of `role` is built on the device of `instead_of` from step `from_step` on, as a compiled mask
/// function that captured the first caller's tensors does.
std::unique_ptr<Fault> makeMaskOnOtherDevice(JsonReader parameters);

/// The checkpointed loss of `role` is recomputed while the device of `instead_of` is current.
std::unique_ptr<Fault> makeRecomputeOnOtherDevice(JsonReader parameters);

}  // namespace redraft::scenarios
