#include "model/sim/sim_copy.h"

#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty.h>

#include <array>
#include <atomic>

#include "model/sim/cpu_alias.h"
#include "model/sim/op_touches.h"
#include "model/sim/sim_errors.h"
#include "model/sim/sim_state.h"

namespace redraft::model::sim {
namespace {

using devices::Status;

void copyOnDevice(const at::Tensor& source, const at::Tensor& destination) {
  const DeviceScope scope(destination.device().index());
  cpuAlias(destination).copy_(cpuAlias(source));
  if (!reportsOps()) return;
  OpTouches touches;
  touches.add(source, "source", false);
  touches.add(destination, "destination", true);
  touches.report("aten::copy_", destination.device().index());
}

/// An event recorded on one device's current stream and awaited by another's; both are the driver's, which logs them.
void orderAfter(int first, int then) {
  devices::Event event;
  {
    const DeviceScope scope(first);
    devices::check(driver().createEvent(&event), "createEvent", first);
    devices::check(driver().recordEvent(event, currentStream(first)), "recordEvent", first);
  }
  const DeviceScope scope(then);
  devices::check(driver().waitEvent(currentStream(then), event), "waitEvent", then);
  devices::check(driver().destroyEvent(event), "destroyEvent", then);
}

/// LibTorch turns peer access on, one way, at its first copy between two GPUs that can have it.
void enablePeerAccessOnce(int from, int to) {
  static std::array<std::atomic<bool>, kMaxDevices * kMaxDevices> asked{};
  if (asked[from * kMaxDevices + to].exchange(true)) return;
  bool can = false;
  devices::check(driver().canAccessPeer(from, to, &can), "canAccessPeer", from);
  if (!can) return;
  const Status status = driver().enablePeerAccess(from, to);
  if (status != Status::kPeerAccessAlreadyEnabled) devices::check(status, "enablePeerAccess", from);
}

/// Copies the bytes of two tensors with equal dtype, sizes and strides, each dense.
void copyBytes(const at::Tensor& source, const at::Tensor& destination, bool nonBlocking) {
  const auto bytes = source.numel() * static_cast<std::int64_t>(source.element_size());
  const bool crossesDevices = isSim(source) && isSim(destination);
  const int device = isSim(source) ? source.device().index() : destination.device().index();
  const int other = destination.device().index();
  if (crossesDevices) {
    enablePeerAccessOnce(device, other);
    orderAfter(other, device);
  }
  {
    const DeviceScope scope(device);
    const Status status = driver().copy(destination.data_ptr(), source.const_data_ptr(),
                                        static_cast<std::size_t>(bytes), currentStream(device));
    if (status != Status::kSuccess) throwCopyRefused(status, source.device(), destination.device(), bytes);
    if (!crossesDevices && !nonBlocking)
      devices::check(driver().synchronizeStream(currentStream(device)), "synchronizeStream", device);
  }
  if (crossesDevices) orderAfter(device, other);
}

bool sameLayout(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.strides() == b.strides() && a.is_non_overlapping_and_dense() &&
         b.is_non_overlapping_and_dense() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

void copyBetween(at::Tensor source, const at::Tensor& destination, bool nonBlocking) {
  if (!sameLayout(source, destination)) {
    source = source.to(destination.scalar_type()).resolve_conj().resolve_neg().contiguous();
    const bool direct = destination.is_contiguous() && !destination.is_conj() && !destination.is_neg();
    if (!direct) {
      const at::Tensor staged =
          at::empty(destination.sizes(), destination.options().memory_format(c10::MemoryFormat::Contiguous));
      copyBytes(source, staged, nonBlocking);
      destination.copy_(staged);
      return;
    }
  }
  copyBytes(source, destination, nonBlocking);
}

}  // namespace

at::Tensor copyFrom(const at::Tensor& source, const at::Tensor& destination, bool nonBlocking) {
  const at::Tensor expanded = source.sizes() == destination.sizes() ? source : source.expand(destination.sizes());
  if (destination.numel() == 0) return destination;
  if (source.device() == destination.device()) {
    copyOnDevice(expanded, destination);
  } else {
    copyBetween(expanded, destination, nonBlocking);
  }
  return destination;
}

at::Tensor copyFromAndResize(const at::Tensor& source, const at::Tensor& destination) {
  destination.resize_(source.sizes());
  return copyFrom(source, destination, false);
}

at::Scalar localScalar(const at::Tensor& tensor) {
  const at::Tensor host = at::empty({}, tensor.options().device(at::kCPU));
  copyFrom(tensor.dim() == 0 ? tensor : tensor.reshape({}), host, false);
  return at::_local_scalar_dense(host);
}

}  // namespace redraft::model::sim
