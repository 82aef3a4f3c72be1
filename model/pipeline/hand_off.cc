#include "model/pipeline/hand_off.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "base/error.h"

namespace redraft::model {

HandOff::HandOff(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {
  REDRAFT_CHECK(!tensors_.empty(), "a hand-off holds tensors");
  const at::Device device = tensors_.front().device();
  for (const at::Tensor& tensor : tensors_) REDRAFT_CHECK(tensor.device() == device, "a hand-off is from one device");
  if (device.is_cpu()) return;
  const c10::DeviceGuard guard(device);
  ready_ = std::make_shared<c10::Event>(device.type());
  ready_->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

void HandOff::acquire(at::Device device) const {
  if (ready_ == nullptr || device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream stream = guard.getStream(device);
  ready_->block(stream);
  for (const at::Tensor& tensor : tensors_) guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
}

std::vector<at::Tensor> HandOff::receive(at::Device device) const {
  acquire(device);
  std::vector<at::Tensor> received;
  received.reserve(tensors_.size());
  for (const at::Tensor& tensor : tensors_) received.push_back(tensor.to(device));
  return received;
}

}  // namespace redraft::model
