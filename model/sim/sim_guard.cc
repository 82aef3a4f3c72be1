#include "model/sim/sim_guard.h"

#include <array>
#include <mutex>

#include "model/sim/sim_state.h"

namespace redraft::model::sim {
namespace {

using devices::Status;

c10::Device deviceAt(int index) { return {kSim, static_cast<c10::DeviceIndex>(index)}; }
int indexOf(const c10::Device& device) { return device.has_index() ? device.index() : currentDevice(); }
devices::Stream driverStream(const c10::Stream& stream) { return {static_cast<std::uint64_t>(stream.id())}; }
c10::Stream torchStream(devices::Stream stream, int device) {
  return c10::Stream(c10::Stream::UNSAFE, deviceAt(device), static_cast<c10::StreamId>(stream.id));
}

// c10 carries an event as a pointer; it holds the driver's id.
devices::Event driverEvent(void* event) { return {reinterpret_cast<std::uint64_t>(event)}; }

/// Streams handed out in turn, made when first asked for, as c10's CUDA pool.
class StreamPool {
 public:
  devices::Stream next(int device) {
    const std::lock_guard lock(mutex_);
    auto& slot = streams_[next_++ % streams_.size()];
    if (!slot) {
      const DeviceScope scope(device);
      devices::check(driver().createStream(&slot), "createStream", device);
    }
    return slot;
  }

 private:
  std::mutex mutex_;
  std::array<devices::Stream, 32> streams_{};
  std::size_t next_ = 0;
};

StreamPool& streamPool(int device) {
  static auto* const pools = new std::array<StreamPool, kMaxDevices>;
  return (*pools)[device];
}

bool ready(Status status, const char* call, int device) {
  if (status == Status::kNotReady) return false;
  devices::check(status, call, device);
  return true;
}

}  // namespace

c10::DeviceType SimGuard::type() const { return kSim; }
c10::DeviceIndex SimGuard::deviceCount() const noexcept { return static_cast<c10::DeviceIndex>(state().deviceCount); }

c10::Device SimGuard::exchangeDevice(c10::Device device) const {
  const int previous = currentDevice();
  if (device.has_index() && device.index() != previous) setCurrentDevice(device.index());
  return deviceAt(previous);
}

c10::Device SimGuard::getDevice() const { return deviceAt(currentDevice()); }

void SimGuard::setDevice(c10::Device device) const {
  if (device.has_index() && device.index() != currentDevice()) setCurrentDevice(device.index());
}

void SimGuard::uncheckedSetDevice(c10::Device device) const noexcept { restoreCurrentDevice(device.index()); }

c10::Stream SimGuard::getStream(c10::Device device) const {
  const int index = indexOf(device);
  return torchStream(currentStream(index), index);
}

c10::Stream SimGuard::getDefaultStream(c10::Device device) const { return torchStream({}, indexOf(device)); }

c10::Stream SimGuard::getStreamFromGlobalPool(c10::Device device, bool highPriority) const {
  const int index = indexOf(device);
  return torchStream(streamPool(index).next(index), index);
}

c10::Stream SimGuard::getNewStream(c10::Device device, int priority) const {
  const int index = indexOf(device);
  const DeviceScope scope(index);
  devices::Stream stream;
  devices::check(driver().createStream(&stream), "createStream", index);
  return torchStream(stream, index);
}

c10::Stream SimGuard::exchangeStream(c10::Stream stream) const {
  const int index = indexOf(stream.device());
  const auto previous = exchangeStreamId(index, stream.id());
  return c10::Stream(c10::Stream::UNSAFE, deviceAt(index), previous);
}

void* SimGuard::getStreamNativeHandle(const c10::Stream stream) const {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream.id()));
}

bool SimGuard::queryStream(const c10::Stream& stream) const {
  const DeviceScope scope(stream.device_index());
  return ready(driver().queryStream(driverStream(stream)), "queryStream", stream.device_index());
}

void SimGuard::synchronizeStream(const c10::Stream& stream) const {
  const DeviceScope scope(stream.device_index());
  devices::check(driver().synchronizeStream(driverStream(stream)), "synchronizeStream", stream.device_index());
}

void SimGuard::synchronizeDevice(const c10::DeviceIndex device) const {
  const DeviceScope scope(device);
  devices::check(driver().synchronizeContext(), "synchronizeContext", device);
}

void SimGuard::record(void** event, const c10::Stream& stream, const c10::DeviceIndex device,
                      const c10::EventFlag flag) const {
  const DeviceScope scope(stream.device_index());
  devices::Event recorded = driverEvent(*event);
  if (!recorded) {
    devices::check(driver().createEvent(&recorded), "createEvent", stream.device_index());
    *event = reinterpret_cast<void*>(recorded.id);
  }
  devices::check(driver().recordEvent(recorded, driverStream(stream)), "recordEvent", stream.device_index());
}

void SimGuard::block(void* event, const c10::Stream& stream) const {
  if (event == nullptr) return;
  const DeviceScope scope(stream.device_index());
  devices::check(driver().waitEvent(driverStream(stream), driverEvent(event)), "waitEvent", stream.device_index());
}

bool SimGuard::queryEvent(void* event) const {
  return event == nullptr || ready(driver().queryEvent(driverEvent(event)), "queryEvent", -1);
}

void SimGuard::synchronizeEvent(void* event) const {
  if (event != nullptr) devices::check(driver().synchronizeEvent(driverEvent(event)), "synchronizeEvent", -1);
}

double SimGuard::elapsedTime(void* start, void* end, const c10::DeviceIndex device) const {
  TORCH_CHECK(start != nullptr && end != nullptr,
              "sim: both events must be recorded before their elapsed time is known");
  float millis = 0;
  devices::check(driver().elapsedMillis(driverEvent(start), driverEvent(end), &millis), "elapsedMillis", device);
  return millis;
}

void SimGuard::destroyEvent(void* event, const c10::DeviceIndex device) const noexcept {
  if (event != nullptr) logRefusal(driver().destroyEvent(driverEvent(event)), "destroyEvent", device);
}

void SimGuard::recordDataPtrOnStream(const c10::DataPtr& pointer, const c10::Stream& stream) const {
  TORCH_CHECK(pointer.device().type() == kSim && stream.device_type() == kSim,
              "sim: recordDataPtrOnStream takes memory and a stream of sim devices, not ", pointer.device(), " and ",
              stream.device());
}

c10::DeviceCapability SimGuard::getDeviceCapability(c10::Device device) const { return {}; }

}  // namespace redraft::model::sim
