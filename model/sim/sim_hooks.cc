#include "model/sim/sim_hooks.h"

#include "model/sim/sim_generator.h"
#include "model/sim/sim_state.h"
#include "model/sim/sim_storage.h"

namespace redraft::model::sim {

bool SimHooks::isBuilt() const { return true; }
bool SimHooks::isAvailable() const { return true; }
bool SimHooks::hasPrimaryContext(c10::DeviceIndex device) const { return deviceHasContext(device); }
void SimHooks::init() const {}

c10::DeviceIndex SimHooks::deviceCount() const { return static_cast<c10::DeviceIndex>(state().deviceCount); }
void SimHooks::setCurrentDevice(c10::DeviceIndex device) const { sim::setCurrentDevice(device); }
c10::DeviceIndex SimHooks::getCurrentDevice() const { return static_cast<c10::DeviceIndex>(currentDevice()); }

c10::DeviceIndex SimHooks::exchangeDevice(c10::DeviceIndex device) const {
  const int previous = currentDevice();
  if (device >= 0 && device != previous) sim::setCurrentDevice(device);
  return static_cast<c10::DeviceIndex>(previous);
}

c10::DeviceIndex SimHooks::maybeExchangeDevice(c10::DeviceIndex device) const { return exchangeDevice(device); }

const at::Generator& SimHooks::getDefaultGenerator(c10::DeviceIndex device) const { return defaultGenerator(device); }
at::Generator SimHooks::getNewGenerator(c10::DeviceIndex device) const { return newGenerator(device); }

c10::Device SimHooks::getDeviceFromPtr(void* data) const {
  int device = -1;
  devices::check(driver().pointerDevice(data, &device), "pointerDevice", -1);
  return {kSim, static_cast<c10::DeviceIndex>(device)};
}

bool SimHooks::isPinnedPtr(const void* data) const { return isPinned(data); }
c10::Allocator* SimHooks::getPinnedMemoryAllocator() const { return pinnedAllocator(); }

void SimHooks::resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const {
  resizeStorage(*storage.unsafeGetStorageImpl(), bytes);
}

}  // namespace redraft::model::sim
