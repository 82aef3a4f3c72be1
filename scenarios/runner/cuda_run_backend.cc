// GPUs: our driver interface over CUDA's, and LibTorch's CUDA half, both on the primary context of each GPU. Neither is
// linked; both are opened here.
#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/keep.h"
#include "base/unsupported.h"
#include "devices/context_guard.h"
#include "devices/cuda_loader.h"
#include "devices/gpu_memory.h"
#include "model/cuda/torch_cuda.h"
#include "model/device_copy.h"
#include "model/kernels/gpu_attention.h"
#include "scenarios/runner/numerics.h"
#include "scenarios/runner/run_backend.h"

namespace redraft::scenarios {
namespace {

using devices::Status;

int countGpus(const devices::Topology& logical) {
  return devices::loadCudaDriver({.topology = logical})->deviceCount();
}

/// A driver first, to know how many GPUs there are; then one that knows the topology in their terms.
devices::Placement placeOnGpus(const TopologySpec& spec, const ProcessLayout& layout) {
  const devices::Topology logical = spec.resolve();
  const std::size_t processes = layout.processes.roles.size();
  const std::string needs = "needs " + std::to_string(spec.devices) + " GPUs (topology.distinct): ";
  int gpus = 0;
  try {
    gpus = countGpus(logical);
  } catch (const Error& none) {
    if (!spec.distinct) throw;
    throw Unsupported(needs + none.message());
  }
  if (spec.distinct && gpus < spec.devices) throw Unsupported(needs + "this machine has " + std::to_string(gpus));
  for (const int gpu : spec.gpus)
    if (gpu >= gpus)
      throw Unsupported("needs GPU " + std::to_string(gpu) + " (topology.gpus): this machine has " +
                        std::to_string(gpus));
  if (layout.sameEnvironment && static_cast<std::size_t>(gpus) < processes)
    throw Unsupported("needs a GPU for each of " + std::to_string(processes) + " processes: this machine has " +
                      std::to_string(gpus));
  return devices::Placement::onGpus(logical, gpus, layout.processes);
}

class CudaRunBackend final : public RunBackend {
 public:
  CudaRunBackend(const Scenario& scenario, const ProcessLayout& layout)
      : RunBackend(placeOnGpus(scenario.topology, layout)),
        greenContexts_(scenario.topology.greenContexts),
        roles_(layout.processes.own()),
        driver_(devices::loadCudaDriver({.topology = placement().physical()})) {
    for (const std::string& role : layout.processes.own()) used_.insert(placement().physical().deviceOf(role));
  }

  devices::Driver& driver() override { return *driver_; }

  void open() override {
    if (placement().physical().peerAccess) forPeers([this](int from, int to) { requirePeers(from, to); });
    about_ = model::loadTorchCuda().about();
    settleGpuNumerics();
    // LibTorch begins on the device that is current: with several processes, one of this one's.
    c10::impl::VirtualGuardImpl(at::kCUDA).setDevice({at::kCUDA, static_cast<c10::DeviceIndex>(*used_.begin())});
    at::globalContext().lazyInitDevice(at::kCUDA);
    model::setStagedCopies(!placement().physical().peerAccess);
    if (greenContexts_) makeGreenStreams();
  }

  at::Device device(int logical) const override {
    return {at::kCUDA, static_cast<c10::DeviceIndex>(placement().device(logical))};
  }
  devices::KernelCache::Compiler compiler() override {
    return model::gpuAttentionCompiler(
        devices::cudaArchitecture(*driver_, *used_.begin()),
        std::make_shared<devices::ArtefactStore>(devices::ArtefactStore::defaultFolder()));
  }
  RunClasses classes() const override {
    GpuFacts facts{about_.driver, about_.runtime, about_.cublas, about_.cudnn, {}};
    for (const int device : used_) {
      const model::GpuDevice& gpu = about_.devices.at(static_cast<std::size_t>(device));
      facts.gpus.push_back({gpu.name, gpu.architecture, gpu.multiprocessors});
    }
    return {gpuNumericsClass(facts), gpuPerformanceClass(facts)};
  }
  c10::Stream ownStream(const std::string& role, at::Device device) const override {
    const auto green = green_.find(role);
    return green != green_.end() ? green->second
                                 : c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(device);
  }
  bool logsAll() const override { return false; }  // LibTorch's launches and copies do not go through our driver

  void setPeerAccess() override {
    forPeers([this](int from, int to) { placement().physical().peerAccess ? enable(from, to) : expectOff(from, to); });
  }
  void confirmPeerAccess() override {
    if (!placement().physical().peerAccess) forPeers([this](int from, int to) { expectOff(from, to); });
  }

  bool poisoned() override {
    try {
      for (const int device : used_) {
        const devices::ContextGuard guard(*driver_, device);
        if (driver_->synchronizeContext() != Status::kSuccess) return true;
      }
      return false;
    } catch (const devices::DeviceError&) {
      return true;  // it does not even bind a context
    }
  }

  golden::MemoryReport memory() override {
    using c10::CachingAllocator::StatType;
    constexpr auto kAll = static_cast<std::size_t>(StatType::AGGREGATE);
    golden::MemoryReport report;  // which role took what is not known: LibTorch's allocator does not ask
    for (const int device : used_) {
      const auto stats = c10::getDeviceAllocator(at::kCUDA)->getDeviceStats(static_cast<c10::DeviceIndex>(device));
      const auto &bytes = stats.allocated_bytes.at(kAll), &allocations = stats.allocation.at(kAll);
      report.devices.push_back({device, bytes.current, bytes.peak, allocations.current, allocations.allocated});
    }
    for (const devices::GpuMemoryUse& use : devices::gpuMemoryOf(::getpid()))
      report.processes.push_back({::getpid(), use.uuid, deviceOf(use.uuid), use.bytes});
    return report;
  }

 private:
  /// A green context for each role of this process that shares its GPU with another of its roles.
  void makeGreenStreams() {
    for (const int device : used_) {
      std::vector<std::string> here;
      for (const std::string& role : roles_)
        if (placement().physical().deviceOf(role) == device) here.push_back(role);
      if (here.size() < 2) continue;
      std::vector<devices::GreenStream> streams;
      const Status status = driver_->greenStreams(device, static_cast<int>(here.size()), &streams);
      if (status == Status::kInvalidResourceConfiguration)
        throw Unsupported("needs more multiprocessors: GPU " + std::to_string(device) + " has too few for " +
                          std::to_string(here.size()) + " green contexts");
      devices::check(status, "greenStreams", device);
      const at::Device gpu(at::kCUDA, static_cast<c10::DeviceIndex>(device));
      for (std::size_t i = 0; i < here.size(); ++i)
        green_.emplace(here[i], c10::Stream(c10::Stream::UNSAFE, gpu,
                                            model::loadTorchCuda().externalStream(streams[i].native, device)));
    }
  }

  int deviceOf(const std::string& uuid) const {
    const auto found = std::find_if(about_.devices.begin(), about_.devices.end(),
                                    [&](const model::GpuDevice& gpu) { return gpu.uuid == uuid; });
    return found == about_.devices.end() ? -1 : static_cast<int>(found - about_.devices.begin());
  }

  template <class Action>
  void forPeers(Action action) const {
    for (const int from : used_)
      for (const int to : used_)
        if (from != to) action(from, to);
  }

  void requirePeers(int from, int to) {
    bool can = false;
    devices::check(driver_->canAccessPeer(from, to, &can), "canAccessPeer", from);
    if (!can) {
      throw Unsupported("needs peer access: GPU " + std::to_string(from) + " cannot access GPU " + std::to_string(to));
    }
  }

  void enable(int from, int to) {
    const Status status = driver_->enablePeerAccess(from, to);
    if (status != Status::kPeerAccessAlreadyEnabled) devices::check(status, "enablePeerAccess", from);
  }

  /// Turning off what is off is refused with 705: the answer proves that it was.
  void expectOff(int from, int to) {
    const Status status = driver_->disablePeerAccess(from, to);
    if (status == Status::kPeerAccessNotEnabled) return;
    devices::check(status, "disablePeerAccess", from);
    throw Error(ErrorKind::kEnvironment, "topology.peer",
                "peer access from GPU " + std::to_string(from) + " to GPU " + std::to_string(to) +
                    " was on, and the scenario asks for off",
                "something in this process turned it on; LibTorch does at a direct copy between two GPUs");
  }

  const bool greenContexts_;
  const std::vector<std::string> roles_;      // of this process
  std::map<std::string, c10::Stream> green_;  // by role
  const std::unique_ptr<devices::Driver> driver_;
  std::set<int> used_;  // GPUs that a role of this process is on
  model::TorchCudaAbout about_;
};

}  // namespace

RunBackend& startCudaBackend(const Scenario& scenario, const ProcessLayout& layout) {
  return keepForProcess<RunBackend>(std::make_unique<CudaRunBackend>(scenario, layout));
}

}  // namespace redraft::scenarios
