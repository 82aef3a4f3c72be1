#include "model/pipeline/hand_off.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <utility>

#include "base/error.h"
#include "model/device_copy.h"

namespace redraft::model {

namespace {

/// While an exception unwinds, GPU memory that other streams use is not given back: on a poisoned process LibTorch's
/// allocator throws out of the destructor, and the run's record would end before its reason. The process ends anyway.
void release(const std::vector<at::Tensor>* tensors) {
  const bool leak = std::uncaught_exceptions() > 0 && tensors->front().is_cuda();
  if (!leak) delete tensors;
}

}  // namespace

HandOff::HandOff(std::vector<at::Tensor> tensors) {
  REDRAFT_CHECK(!tensors.empty(), "a hand-off holds tensors");
  tensors_ = std::shared_ptr<const std::vector<at::Tensor>>(new std::vector<at::Tensor>(std::move(tensors)), release);
  const at::Device device = tensors_->front().device();
  for (const at::Tensor& tensor : *tensors_) REDRAFT_CHECK(tensor.device() == device, "a hand-off is from one device");
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
  // A staged copy leaves from the giver's device, on this thread's stream there.
  if (stagedCopies()) ready_->block(guard.getStream(tensors_->front().device()));
  for (const at::Tensor& tensor : *tensors_) guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
}

std::vector<at::Tensor> HandOff::receive(at::Device device) const {
  acquire(device);
  std::vector<at::Tensor> received;
  received.reserve(tensors_->size());
  for (const at::Tensor& tensor : *tensors_) received.push_back(copyTo(tensor, device));
  return received;
}

}  // namespace redraft::model
