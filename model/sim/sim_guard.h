#pragma once
// Devices, streams and events as c10 sees them, through the driver. Every refusal is a DeviceError with CUDA's number:
// an event of one device recorded on a stream of another is 400, waiting for it there is allowed.

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace redraft::model::sim {

class SimGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override;
  c10::DeviceIndex deviceCount() const noexcept override;
  c10::Device exchangeDevice(c10::Device device) const override;
  c10::Device getDevice() const override;
  void setDevice(c10::Device device) const override;
  void uncheckedSetDevice(c10::Device device) const noexcept override;

  c10::Stream getStream(c10::Device device) const override;
  c10::Stream getDefaultStream(c10::Device device) const override;
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool highPriority) const override;
  c10::Stream getNewStream(c10::Device device, int priority) const override;
  c10::Stream exchangeStream(c10::Stream stream) const override;
  void* getStreamNativeHandle(const c10::Stream stream) const override;  // the id of the driver's stream
  bool queryStream(const c10::Stream& stream) const override;
  void synchronizeStream(const c10::Stream& stream) const override;
  void synchronizeDevice(const c10::DeviceIndex device) const override;

  // An event belongs to the device of the stream on which it is first recorded.
  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex device,
              const c10::EventFlag flag) const override;
  void block(void* event, const c10::Stream& stream) const override;
  bool queryEvent(void* event) const override;
  void synchronizeEvent(void* event) const override;
  double elapsedTime(void* start, void* end, const c10::DeviceIndex device) const override;
  void destroyEvent(void* event, const c10::DeviceIndex device) const noexcept override;

  /// Work runs at once, so memory is never recycled under a stream; a pointer or stream of no sim device is refused.
  void recordDataPtrOnStream(const c10::DataPtr& pointer, const c10::Stream& stream) const override;
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override;
};

}  // namespace redraft::model::sim
