#pragma once
// Registers the kernels of `sim`: a few of its own (factories, views, copies, set_), SimKernel for every aten op that
// has a CPU kernel, and the fallback for whatever is registered later.

namespace redraft::model::sim {

/// Once a process. Takes some 10 ms.
void registerKernels();

}  // namespace redraft::model::sim
