#pragma once
// The simulated driver: N devices in host memory, with CUDA's affinity rules enforced. Work runs at once on the calling
// thread, so a program's results do not depend on the simulator; what streams and events order is checked by vector clocks.

#include <memory>

#include "devices/driver.h"
#include "devices/topology.h"

namespace redraft::devices {

struct SimOptions {
  Topology topology;
  std::size_t deviceBytes = std::size_t{64} << 30;  // allocate() beyond it: kOutOfMemory
  std::size_t logCapacity = 1u << 16;
};

std::unique_ptr<Driver> makeSimDriver(SimOptions options);

}  // namespace redraft::devices
