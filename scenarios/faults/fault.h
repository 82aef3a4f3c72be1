#pragma once
// A fault: data in a scenario, and one small class on the seams of model/instrument.h and of the kernel cache. The
// training code has no fault in it. To add one: a class here, a line in registry.cc, a scenario with its twin.

#include <memory>
#include <string>
#include <vector>

#include "devices/kernel_cache.h"
#include "devices/placement.h"
#include "model/drafter.h"
#include "model/instrument.h"
#include "model/pipeline/run_monitor.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

/// What a fault may reach. Everything outlives it.
struct FaultSite {
  const Scenario& scenario;
  const devices::Topology& topology;  // in terms of the devices that the run has
  devices::Driver& driver;
  devices::KernelCache& cache;  // before any thread uses it
  model::RunMonitor& monitor;   // every wait of a fault goes through it
};

/// Does nothing wrong until a subclass says otherwise. Calls come from any thread; the caller's role, step and phase
/// are in devices::currentOrigin().
class Fault : public model::Instrument {
 public:
  /// Before anything heavy is loaded. Throws Unsupported where this machine, or this layout of processes, cannot
  /// express the fault: a case is then SKIPPED, because a run that shows nothing would say nothing.
  virtual void checkPlacement(const devices::Placement& placement, const devices::Processes& processes) const {}
  /// Before the workers start.
  virtual void install(FaultSite& site) {}
  /// From the cache's hook, behind the event that records it.
  virtual void cacheEvent(devices::CacheEvent event, const devices::CacheRequest& request) {}
  virtual void replicaReady(int drafter, const model::Drafter& replica) {}
};

/// The fault of a scenario; one that does nothing when it has none. Throws Error(kBadInput) for a name or a parameter
/// that is not known, proposing the nearest.
std::unique_ptr<Fault> makeFault(const Scenario& scenario);

std::vector<std::string> faultNames();

}  // namespace redraft::scenarios
