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

/// `role` makes a context on the device of `on_device_of` when it begins step `step`, as a library call before the
/// thread has chosen its device does. Nothing fails; where processes have a device each, it costs memory on one that is
/// another's.
std::unique_ptr<Fault> makeStrayContext(JsonReader parameters);

}  // namespace redraft::scenarios
