#include "model/device_copy.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace redraft::model {

namespace {

std::atomic<bool> gStaged{false};

bool isStaged(at::Device from, at::Device to) { return stagedCopies() && from.is_cuda() && to.is_cuda() && from != to; }

at::Tensor onPinnedHost(const at::Tensor& tensor) {
  at::Tensor host = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
  host.copy_(tensor);
  return host;
}

}  // namespace

void setStagedCopies(bool staged) { gStaged.store(staged, std::memory_order_relaxed); }
bool stagedCopies() { return gStaged.load(std::memory_order_relaxed); }

at::Tensor copyTo(const at::Tensor& tensor, at::Device device) {
  return isStaged(tensor.device(), device) ? onPinnedHost(tensor).to(device) : tensor.to(device);
}

void copyInto(const at::Tensor& destination, const at::Tensor& source) {
  destination.copy_(isStaged(source.device(), destination.device()) ? onPinnedHost(source) : source);
}

at::Tensor upload(const at::Tensor& host, at::Device device) {
  // The pinned block is kept until the copy is done: LibTorch's host allocator knows the stream.
  return device.is_cuda() && host.is_cpu() ? host.pin_memory().to(device, /*non_blocking=*/true) : host.to(device);
}

void ownCopyStream(at::Device source) {
  thread_local std::vector<at::Device> has;
  if (source.is_cpu() || std::find(has.begin(), has.end(), source) != has.end()) return;
  const c10::impl::VirtualGuardImpl impl(source.type());
  impl.exchangeStream(impl.getStreamFromGlobalPool(source));
  has.push_back(source);
}

void orderAfter(at::Device device, at::Device user) {
  if (device == user || device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl impl(device.type());
  const c10::DeviceGuard guard(device);
  c10::Event done(device.type());
  done.record(impl.getStream(device));
  done.block(impl.getStream(user));
}

}  // namespace redraft::model
