#include "model/pipeline/hand_off.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <utility>

#include "base/error.h"
#include "model/device_copy.h"
#include "model/instrument.h"

namespace redraft::model {

namespace {

/// While an exception unwinds, GPU memory that other streams use is not given back: on a poisoned process LibTorch's
/// allocator throws out of the destructor, and the run's record would end before its reason. The process ends anyway.
void release(const std::vector<at::Tensor>* tensors) {
  const bool leak = std::uncaught_exceptions() > 0 && tensors->front().is_cuda();
  if (!leak) delete tensors;
}

std::int64_t bytesOf(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

}  // namespace

devices::StreamPlace placeOf(c10::Stream stream) {
  return {stream.device_index(), c10::impl::VirtualGuardImpl(stream.device_type()).getStreamNativeHandle(stream)};
}

HandOff::HandOff(std::vector<at::Tensor> tensors) {
  REDRAFT_CHECK(!tensors.empty(), "a hand-off holds tensors");
  tensors_ = std::shared_ptr<const std::vector<at::Tensor>>(new std::vector<at::Tensor>(std::move(tensors)), release);
  const at::Device device = tensors_->front().device();
  for (const at::Tensor& tensor : *tensors_) REDRAFT_CHECK(tensor.device() == device, "a hand-off is from one device");
  if (device.is_cpu()) return;
  const c10::DeviceGuard current(device);
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream stream = guard.getStream(device);
  if (devices::Declarations* const seen = instrument().declarations())
    number_ = seen->given(placeOf(stream), bytesOf(*tensors_));
  ready_ = std::make_shared<c10::Event>(device.type());
  ready_->record(stream);
}

void HandOff::acquire(at::Device device) const {
  if (ready_ == nullptr || device.is_cpu()) return;
  if (tensors_->front().device() != device) ownCopyStream(tensors_->front().device());
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream stream = guard.getStream(device);
  const at::Device from = tensors_->front().device();
  const c10::Stream leaving = guard.getStream(from);  // a copy between devices is on this thread's stream there
  if (devices::Declarations* const seen = number_ == 0 ? nullptr : instrument().declarations()) {
    seen->taken(number_, placeOf(stream), bytesOf(*tensors_));
    if (leaving != stream) seen->taken(number_, placeOf(leaving), bytesOf(*tensors_));
  }
  if (instrument().waitsForHandOff()) {
    ready_->block(stream);
    // A direct copy waits for the taker's stream too; a staged one does not.
    if (stagedCopies()) ready_->block(leaving);
  }
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
