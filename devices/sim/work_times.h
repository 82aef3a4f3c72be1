#pragma once
// When a simulated device's work ran. It is no call and has no record: whoever makes a trace asks for it.

#include <cstdint>
#include <functional>

#include "devices/sim/sim_driver.h"

namespace redraft::devices {

/// `begin` by the log's clock, `lasted` after it, in nanoseconds. Called behind the work of a launch or copy on the
/// thread of the call, which has been logged.
using WorkSink = std::function<void(std::int64_t begin, std::int64_t lasted)>;

/// Of a driver that makeSimDriver() made, while no other thread uses it. Null: nobody asks, and no clock is read.
void setWorkSink(SimDriver& driver, WorkSink sink);

}  // namespace redraft::devices
