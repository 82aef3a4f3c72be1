#pragma once
// `sim`: a PyTorch backend (device type PrivateUse1) whose devices are those of a devices::SimDriver. Tensors are real,
// kernels are the CPU's, and devices, streams, events, copies and memory are the driver's, with CUDA's rules. See
// docs/sim-backend.md.
//
// Registration is at run time and for the rest of the process: once registered, PyTorch takes `sim` for *the*
// accelerator, and a CUDA backward in the same process loses its streams. So it belongs in runs on simulated devices
// only, before their first tensor, their first backward (autograd counts the devices then) and their threads.

#include <c10/core/Device.h>

#include "devices/sim/sim_driver.h"

namespace redraft::model {

enum class Strictness {
  kRawLaunch,  // as CUDA: tensors of two devices in one op are refused; ops bring their own device guard
  kAllOps,     // also refused: an op whose tensors are not on the calling thread's current device
};

struct SimBackendOptions {
  Strictness strictness = Strictness::kRawLaunch;
  /// What ops read and write goes to the driver's race check too (where SimOptions::raceCheck is on).
  bool opRaces = false;
};

/// Registers `sim` over `driver`, which must outlive every sim tensor. A second call with the same driver only takes
/// over the options. Throws Error(kBadInput) for another driver or one without devices, Error(kEnvironment) when
/// another backend holds PrivateUse1. Not thread-safe.
void registerSim(devices::SimDriver& driver, SimBackendOptions options = {});

bool simRegistered();
devices::SimDriver& simDriver();   // checked: registered
c10::Device simDevice(int index);  // checked: registered, and index within the driver's count

}  // namespace redraft::model
