#include "model/kernels/attention_launch.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"
#include "devices/kernel_cache.h"
#include "model/instrument.h"
#include "model/kernels/registry.h"

namespace redraft::model {
namespace {

devices::KernelCache* gCache = nullptr;

devices::Stream currentStream(at::Device device) {
  // The backend's stream ids are the driver's; 0 is the default stream.
  return {static_cast<std::uint64_t>(c10::impl::VirtualGuardImpl(device.type()).getStream(device).id())};
}

devices::LaunchShape launchShape(const AttentionArtefact& artefact, const AttentionShape& shape) {
  const auto tiles = [](std::int64_t length, std::int64_t tile) {
    return static_cast<unsigned>((length + tile - 1) / tile);
  };
  devices::LaunchShape launch;
  launch.grid[0] = artefact.backward ? 1 : tiles(shape.queries, artefact.queryTile);
  launch.grid[1] = static_cast<unsigned>(artefact.backward ? shape.keyHeads : shape.heads);
  launch.grid[2] = static_cast<unsigned>(shape.batch);
  return launch;
}

}  // namespace

void setKernelCache(devices::KernelCache* cache) { gCache = cache; }

void AttentionCall::add(const char* name, void* pointer, const at::Tensor& tensor, bool written) {
  REDRAFT_CHECK(count_ < pointers_.size(), "too many kernel parameters");
  pointers_[count_] = pointer;
  arguments_.params.push_back(&pointers_[count_++]);
  if (tensor.nbytes() > 0) arguments_.touches.push_back({name, pointer, tensor.nbytes(), written});
}

void AttentionCall::readMask(const BlockMask& mask) {
  read("block_mask.row_offsets", mask.rowOffsets);
  read("block_mask.columns", mask.columns);
  read("block_mask.anchors", mask.anchors);
  read("block_mask.keep", mask.keep);
}

void AttentionCall::launch(const AttentionArtefact& artefact, const at::Tensor& q, const AttentionShape& shape) {
  const at::Device device = q.device();
  if (device.is_cpu()) {
    artefact.kernel()(arguments_.params.data());
    return;
  }
  require(gCache != nullptr, "attention",
          "q is " + describe(q) + ", but this process has no kernel cache for devices (setKernelCache)");
  const c10::DeviceGuard guard(device);
  devices::Driver& driver = gCache->driver();
  const std::string name = artefact.name();
  instrument().syncPoint(SyncPoint::kKernelLookup, device.index());
  devices::CacheRequest request{name, instrument().kernelCallSiteDevice(device.index()), {}};
  devices::check(driver.current(&request.context), "current", device.index(), name);
  const devices::Function function = gCache->get(request, artefact.entry());
  instrument().syncPoint(SyncPoint::kKernelLaunch, device.index());
  const devices::Status status =
      driver.launch(function, launchShape(artefact, shape), currentStream(device), arguments_);
  if (status != devices::Status::kSuccess) {
    devices::check(status, "launch", device.index(), name + ", q " + describe(q));
  }
}

}  // namespace redraft::model
