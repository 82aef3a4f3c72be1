#pragma once
// The devices that a run trains on: the one place where the runner knows simulated devices from GPUs. A backend is
// started once a process and never destroyed, because autograd's threads and tensors of theirs outlive main().

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <map>
#include <string>
#include <vector>

#include "devices/kernel_cache.h"
#include "devices/placement.h"
#include "devices/sim/sim_driver.h"
#include "golden/run_files.h"
#include "scenarios/spec/scenario.h"

namespace redraft::scenarios {

/// What its results and its times depend on (golden::NumericsClass, golden::PerformanceClass). `performance` is empty
/// where the machine says all: environment.json then holds it.
struct RunClasses {
  std::map<std::string, std::string> numerics, performance;
};

class RunBackend {
 public:
  virtual ~RunBackend() = default;

  /// Known from the start, before open().
  const devices::Placement& placement() const { return placement_; }
  virtual devices::Driver& driver() = 0;
  /// Null where devices are not simulated.
  virtual devices::SimDriver* simulated() { return nullptr; }

  /// Makes LibTorch work on the devices and settles what their numbers depend on; seconds on a GPU. Before the first
  /// tensor. Throws Error(kEnvironment) with the remedy, and Unsupported where the topology's peer access cannot
  /// be had.
  virtual void open() = 0;

  // After open().
  virtual at::Device device(int logical) const = 0;
  virtual devices::KernelCache::Compiler compiler() = 0;
  virtual RunClasses classes() const = 0;
  /// Several roles may share a device: each gets a stream, on its own thread.
  virtual c10::Stream ownStream(const std::string& role, at::Device device) const = 0;
  /// Whether the driver's log shows all that the devices did, so that a trace is made of it.
  virtual bool logsAll() const = 0;

  /// Peer access as the topology says. Throws DeviceError, and Error(kEnvironment) where it is on and was to be off.
  virtual void setPeerAccess() = 0;
  /// After the last step: access that was to be off still is. Throws Error(kEnvironment) otherwise.
  virtual void confirmPeerAccess() = 0;
  /// Every call on the devices now fails (an illegal address, say). Waits for what runs.
  virtual bool poisoned() = 0;
  virtual golden::MemoryReport memory() = 0;

 protected:
  explicit RunBackend(devices::Placement placement) : placement_(std::move(placement)) {}

 private:
  const devices::Placement placement_;
};

/// Which processes of this machine a run is shared out to. Devices of others' roles are left alone, because a look at a
/// GPU makes a context there.
struct ProcessLayout {
  devices::Processes processes;
  bool sameEnvironment = false;  // all see the same GPUs
};

/// The backend that the scenario names; its driver runs, LibTorch knows nothing of it yet. Throws Error(kEnvironment)
/// with the remedy where the machine has no such devices, and Unsupported where there is no GPU for each process (NCCL
/// takes none twice) and all see the same; else they ask each other once they have met, and it is an error then.
RunBackend& startBackend(const Scenario& scenario, const ProcessLayout& layout);

RunBackend& startSimBackend(const Scenario& scenario);                                // sim_run_backend.cc
RunBackend& startCudaBackend(const Scenario& scenario, const ProcessLayout& layout);  // cuda_run_backend.cc

}  // namespace redraft::scenarios
