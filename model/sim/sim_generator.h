#pragma once
// Random generators of sim devices: one default generator a device, each with a state of its own, seeded alike (as
// CUDA's are) until seeded otherwise. The engine is the CPU's, so a device with seed s draws what the CPU with seed s
// draws.

#include <ATen/core/Generator.h>

namespace redraft::model::sim {

/// The device's default generator; -1 is the current device. Lives as long as the process.
const at::Generator& defaultGenerator(int device);
/// A generator of its own.
at::Generator newGenerator(int device);
/// The CPU generator inside; what CPU kernels draw from.
const at::Generator& cpuGenerator(const at::Generator& sim);

}  // namespace redraft::model::sim
