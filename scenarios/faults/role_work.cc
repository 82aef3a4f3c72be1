#include "scenarios/faults/role_work.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"
#include "devices/artefact_store.h"
#include "devices/cuda_loader.h"

namespace redraft::scenarios {
namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void planted_delay(long long nanos) {
  unsigned long long begun, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begun < (unsigned long long)nanos);
}
)";

void delayOnHost(void** params) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::nanoseconds(*static_cast<const std::int64_t*>(params[0]));
  while (Clock::now() < end) {
  }
}

at::Device deviceOf(const FaultSite& site, const std::string& role) {
  const bool cuda = site.scenario.backend == "cuda";
  return {cuda ? at::kCUDA : at::kPrivateUse1, static_cast<c10::DeviceIndex>(site.topology.deviceOf(role))};
}

devices::Image delayImage(devices::Driver& driver, at::Device device) {
  devices::Image image;
  image.name = kDelayKernel;
  if (!device.is_cuda()) {
    image.hostKernels = {{kDelayKernel, &delayOnHost}};
    return image;
  }
  const int architecture = devices::cudaArchitecture(driver, device.index());
  devices::ArtefactStore store(devices::ArtefactStore::defaultFolder());
  image.cubin = devices::Nvrtc::open().compiledFrom(store, delaySource(), architecture);
  return image;
}

}  // namespace

devices::GpuSource delaySource() { return {std::string(kDelayKernel) + ".cu", kSource, {}, {}}; }

RoleWork::RoleWork(const FaultSite& site, const std::string& role)
    : driver_(site.driver), device_(deviceOf(site, role)) {}

void RoleWork::prepareDelay() {
  devices::Library library;  // its functions work in every context
  devices::check(driver_.loadLibrary(delayImage(driver_, device_), &library), "loadLibrary", device_.index());
  devices::check(driver_.libraryFunction(library, kDelayKernel, &delay_), "libraryFunction", device_.index());
}

devices::Stream RoleWork::stream() const {
  const c10::impl::VirtualGuardImpl guard(device_.type());
  devices::Stream stream;
  devices::check(driver_.adoptStream(guard.getStreamNativeHandle(guard.getStream(device_)), &stream), "adoptStream",
                 device_.index());
  return stream;
}

void RoleWork::delay(std::chrono::nanoseconds lasts) {
  std::int64_t nanos = lasts.count();
  devices::LaunchArguments arguments;
  arguments.params = {&nanos};
  devices::check(driver_.launch(delay_, {}, stream(), arguments), "launch", device_.index(), kDelayKernel);
}

void RoleWork::prepareCopy(std::size_t bytes) {
  const at::TensorOptions options = at::TensorOptions(device_).dtype(at::kByte);
  from_ = at::zeros({static_cast<std::int64_t>(bytes)}, options);
  to_ = at::zeros_like(from_);
  c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());  // another stream reads it
}

void RoleWork::copy() {
  REDRAFT_CHECK(from_.defined(), "a copy is prepared");
  devices::check(driver_.copy(to_.mutable_data_ptr(), from_.const_data_ptr(), from_.nbytes(), stream()), "copy",
                 device_.index());
}

}  // namespace redraft::scenarios
