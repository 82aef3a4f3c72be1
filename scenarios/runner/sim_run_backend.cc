// Simulated devices: a driver in host memory, and a PrivateUse1 backend over it.
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/keep.h"
#include "base/unsupported.h"
#include "model/kernels/attention.h"
#include "model/sim/sim_backend.h"
#include "scenarios/runner/numerics.h"
#include "scenarios/runner/run_backend.h"

namespace redraft::scenarios {
namespace {

class SimRunBackend final : public RunBackend {
 public:
  explicit SimRunBackend(const Scenario& scenario)
      : RunBackend(devices::Placement(scenario.topology.resolve())),
        strictness_(scenario.strict == "all-ops" ? model::Strictness::kAllOps : model::Strictness::kRawLaunch),
        threads_(scenario.threads),
        driver_(devices::makeSimDriver({.topology = placement().physical()})) {
    const auto& roles = placement().physical().roles;
    std::set<int> used;
    for (const devices::RoleDevice& role : roles) used.insert(role.device);
    if (scenario.topology.greenContexts && used.size() < roles.size())
      throw Unsupported("needs a GPU: green contexts share out its multiprocessors, and simulated devices have none");
  }

  devices::Driver& driver() override { return *driver_; }
  devices::SimDriver* simulated() override { return driver_.get(); }

  void open() override {
    model::SimBackendOptions options;
    options.strictness = strictness_;
    options.opRaces = true;
    model::registerSim(*driver_, options);
  }

  at::Device device(int logical) const override { return model::simDevice(placement().device(logical)); }
  devices::KernelCache::Compiler compiler() override { return model::compileAttention; }
  RunClasses classes() const override { return {cpuNumericsClass("sim", threads_), {}}; }
  c10::Stream ownStream(const std::string&, at::Device device) const override {
    return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
  }
  bool logsAll() const override { return true; }

  void setPeerAccess() override {
    const devices::Topology& topology = placement().physical();
    for (const devices::RoleDevice& from : topology.roles) {
      for (const devices::RoleDevice& to : topology.roles)
        if (from.device != to.device) setPeerAccess(from.device, to.device);
    }
  }
  void confirmPeerAccess() override {}  // nothing but setPeerAccess() turns it on
  bool poisoned() override { return driver_->poisoned(); }

  golden::MemoryReport memory() override {
    golden::MemoryReport report;
    for (int device = 0; device < driver_->deviceCount(); ++device) {
      devices::MemoryInfo info;
      devices::check(driver_->memoryInfo(device, &info), "memoryInfo", device);
      report.devices.push_back({device, info.live, info.peak, info.segments, info.allocations});
    }
    for (const devices::RoleMemory& entry : driver_->roleMemory()) {
      report.roles[devices::roleName(entry.role)][std::to_string(entry.device)] = entry.bytes;
    }
    return report;
  }

 private:
  /// On, or off, and the driver confirms it.
  void setPeerAccess(int from, int to) {
    bool can = false;
    devices::check(driver_->canAccessPeer(from, to, &can), "canAccessPeer", from);
    if (can != placement().physical().peerAccess) {
      throw Error(ErrorKind::kEnvironment, "topology.peer",
                  "device " + std::to_string(from) + (can ? " can" : " cannot") + " access device " +
                      std::to_string(to) + ", and the scenario asks for the opposite");
    }
    if (!can) return;
    const devices::Status status = driver_->enablePeerAccess(from, to);
    if (status != devices::Status::kPeerAccessAlreadyEnabled) devices::check(status, "enablePeerAccess", from);
  }

  const model::Strictness strictness_;
  const int threads_;
  const std::unique_ptr<devices::SimDriver> driver_;
};

}  // namespace

RunBackend& startSimBackend(const Scenario& scenario) {
  return keepForProcess<RunBackend>(std::make_unique<SimRunBackend>(scenario));
}

}  // namespace redraft::scenarios
