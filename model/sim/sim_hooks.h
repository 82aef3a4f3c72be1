#pragma once
// What ATen and autograd ask an accelerator beside the dispatcher and the device guard.

#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace redraft::model::sim {

class SimHooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override;
  bool isAvailable() const override;
  bool hasPrimaryContext(c10::DeviceIndex device) const override;
  void init() const override;

  c10::DeviceIndex deviceCount() const override;
  void setCurrentDevice(c10::DeviceIndex device) const override;
  c10::DeviceIndex getCurrentDevice() const override;
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override;
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override;

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override;
  at::Generator getNewGenerator(c10::DeviceIndex device) const override;

  c10::Device getDeviceFromPtr(void* data) const override;  // throws DeviceError for host memory
  bool isPinnedPtr(const void* data) const override;
  c10::Allocator* getPinnedMemoryAllocator() const override;
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override;
};

}  // namespace redraft::model::sim
