#include "model/sim/sim_backend.h"

#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <string>

#include "base/error.h"
#include "model/sim/sim_guard.h"
#include "model/sim/sim_hooks.h"
#include "model/sim/sim_ops.h"
#include "model/sim/sim_state.h"
#include "model/sim/sim_storage.h"

namespace redraft::model {
namespace {

void refuseSecondDriver(const devices::SimDriver& driver) {
  if (&driver != sim::state().driver)
    throwBadInput("registerSim", "the backend is registered over another driver already",
                  "make one driver a process, and pass that one");
}

void claimPrivateUse1() {
  if (c10::is_privateuse1_backend_registered())
    throw Error(ErrorKind::kEnvironment, "registerSim",
                "PyTorch's PrivateUse1 is taken by the backend '" + c10::get_privateuse1_backend() + "'",
                "run without that extension");
  c10::register_privateuse1_backend("sim");
}

}  // namespace

void registerSim(devices::SimDriver& driver, SimBackendOptions options) {
  if (simRegistered()) {
    refuseSecondDriver(driver);
    sim::state().strictness = options.strictness;
    sim::state().reportsOps = options.opRaces;
    return;
  }
  const int count = driver.deviceCount();
  if (count < 1 || count > sim::kMaxDevices)
    throwBadInput("registerSim", "the driver has " + std::to_string(count) + " devices",
                  "use 1 to " + std::to_string(sim::kMaxDevices));
  claimPrivateUse1();
  sim::State& state = sim::state();
  state.driver = &driver;
  state.deviceCount = count;
  state.strictness = options.strictness;
  state.reportsOps = options.opRaces;

  // PyTorch keeps plain pointers to all of these for good.
  static const auto* const guard = new sim::SimGuard;
  static const c10::impl::DeviceGuardImplRegistrar registrar(sim::kSim, guard);
  at::RegisterPrivateUse1HooksInterface(new sim::SimHooks);
  c10::SetAllocator(sim::kSim, sim::simAllocator());
  sim::registerKernels();
}

bool simRegistered() { return sim::state().driver != nullptr; }

devices::SimDriver& simDriver() {
  REDRAFT_CHECK(simRegistered(), "registerSim() comes first");
  return sim::driver();
}

c10::Device simDevice(int index) {
  REDRAFT_CHECK(simRegistered(), "registerSim() comes first");
  REDRAFT_CHECK(index >= 0 && index < sim::state().deviceCount, "no such sim device: " + std::to_string(index));
  return {sim::kSim, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace redraft::model
