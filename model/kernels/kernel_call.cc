#include "model/kernels/kernel_call.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <string_view>

#include "base/error.h"
#include "devices/kernel_cache.h"
#include "model/instrument.h"
#include "model/kernels/attention.h"
#include "model/kernels/registry.h"

namespace redraft::model {
namespace {

devices::KernelCache* gCache = nullptr;
KernelCode gCode = KernelCode::kHost;

devices::KernelCache& cacheFor(const at::Tensor& on, const char* onName, const std::string& artefact) {
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    throwBadInput(artefact, std::string(onName) + " is " + describe(on) + ", but " + why, remedy);
  };
  if (gCache == nullptr) {
    refuse("this process has no kernel cache for devices (setKernelCache)", "give it one before the workers start");
  }
  if (on.is_cuda() && gCode != KernelCode::kGpu) {
    refuse(std::string("this process's kernel cache is on the driver \"") + gCache->driver().backend() + '"',
           "make it on devices::loadCudaDriver's, with gpuAttentionCompiler, and setKernelCache");
  }
  return *gCache;
}

bool isEmpty(const devices::LaunchShape& shape) {
  return shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0;
}

}  // namespace

devices::Stream currentStream(devices::Driver& driver, at::Device device, const std::string& artefact) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  devices::Stream stream;
  devices::check(driver.adoptStream(guard.getStreamNativeHandle(guard.getStream(device)), &stream), "adoptStream",
                 device.index(), artefact);
  return stream;
}

devices::Context currentContext(devices::Driver& driver, at::Device device, const std::string& artefact) {
  devices::Context context;
  devices::check(driver.current(&context), "current", device.index(), artefact);
  if (context || !device.is_cuda()) return context;
  devices::check(driver.primaryContext(device.index(), &context), "primaryContext", device.index(), artefact);
  devices::check(driver.setCurrent(context), "setCurrent", device.index(), artefact);
  return context;
}

void setKernelCache(devices::KernelCache* cache) {
  const bool cuda = cache != nullptr && std::string_view(cache->driver().backend()) == "cuda";
  setKernelCache(cache, cuda ? KernelCode::kGpu : KernelCode::kHost);
}

void setKernelCache(devices::KernelCache* cache, KernelCode code) {
  gCache = cache;
  gCode = code;
}

bool runsGpuPrograms(at::Device device) { return device.is_cuda() || (!device.is_cpu() && gCode == KernelCode::kGpu); }

void KernelCall::add(const char* name, void* pointer, const at::Tensor& tensor, bool written) {
  REDRAFT_CHECK(count_ < pointers_.size(), "too many kernel parameters");
  pointers_[count_] = pointer;
  arguments_.params.push_back(&pointers_[count_++]);
  if (tensor.nbytes() > 0) arguments_.touches.push_back({name, pointer, tensor.nbytes(), written});
}

void KernelCall::launch(const at::Tensor& on, const char* onName, const std::string& artefact, const char* entry,
                        const devices::LaunchShape& shape) {
  if (isEmpty(shape)) return;
  devices::KernelCache& cache = cacheFor(on, onName, artefact);
  const at::Device device = on.device();
  const c10::DeviceGuard guard(device);
  devices::Driver& driver = cache.driver();
  instrument().syncPoint(SyncPoint::kKernelLookup, device.index());
  devices::CacheRequest request{artefact, instrument().kernelCallSiteDevice(device.index()), {}};
  request.context = currentContext(driver, device, artefact);
  const devices::Function function = cache.get(request, entry);
  const devices::Stream stream = currentStream(driver, device, artefact);
  instrument().syncPoint(SyncPoint::kKernelLaunch, device.index());
  const devices::Status status = driver.launch(function, shape, stream, arguments_);
  if (status != devices::Status::kSuccess) {
    devices::check(status, "launch", device.index(), artefact + ", " + onName + ' ' + describe(on));
  }
}

}  // namespace redraft::model
