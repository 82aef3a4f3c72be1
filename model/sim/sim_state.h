#pragma once
// What the parts of the backend share: the driver, and the current device and streams of the calling thread.

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <atomic>

#include "devices/sim/sim_driver.h"
#include "model/sim/sim_backend.h"

namespace redraft::model::sim {

inline constexpr c10::DeviceType kSim = c10::DeviceType::PrivateUse1;
inline constexpr int kMaxDevices = 64;

/// Set once by registerSim, never freed. Its use before that is a failed check.
struct State {
  devices::SimDriver* driver = nullptr;
  int deviceCount = 0;
  std::atomic<Strictness> strictness{Strictness::kRawLaunch};
  std::atomic<bool> reportsOps{false};
};
State& state();
inline devices::SimDriver& driver() { return *state().driver; }

/// Device of the context that is current on this thread; 0 when none is bound, as with the CUDA runtime. Throws
/// DeviceError when the driver refuses (a poisoned process: 700).
int currentDevice();
/// Binds the primary context of `device` to this thread. Throws DeviceError.
void setCurrentDevice(int device);
/// The same, for restoring: a refusal is logged, not thrown.
void restoreCurrentDevice(int device) noexcept;
/// Binds device 0 when no context is bound, as the first CUDA runtime call of a thread does. Returns the current
/// device.
int bindCurrentDevice();
bool deviceHasContext(int device);

/// Makes `device` current, and the earlier one again at the end.
class DeviceScope {
 public:
  explicit DeviceScope(int device) : DeviceScope(bindCurrentDevice(), device) {}
  /// For a caller that knows the current device.
  DeviceScope(int current, int device) : previous_(current), device_(device) {
    if (device_ != previous_) setCurrentDevice(device_);
  }
  ~DeviceScope() {
    if (device_ != previous_) restoreCurrentDevice(previous_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_;
  int device_;
};

/// c10 stream ids are the driver's; 0 is a device's default stream. A thread's current stream is the default one at
/// first.
devices::Stream currentStream(int device);
c10::StreamId exchangeStreamId(int device, c10::StreamId id);

/// Reports a status that cannot be thrown where it came up (a destructor). Silent for 700: a poisoned process reports
/// that at every other call.
void logRefusal(devices::Status status, const char* call, int device) noexcept;

}  // namespace redraft::model::sim
