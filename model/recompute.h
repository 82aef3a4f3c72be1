#pragma once
// Gradient checkpointing: run a function without keeping what it made, and run it again in backward. The second run
// sees the device and the random numbers of the first. It may happen on another thread (autograd has one a device);
// role and step follow by themselves, the phase is kRecompute.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace redraft::model {

/// Of the outputs the first is differentiable in the input, the others are not. Must be a function of its input, of
/// what it holds, of the current device and of the default generators: it runs twice.
using RecomputedFunction = std::function<std::vector<at::Tensor>(const at::Tensor& input)>;

/// function(input), keeping `input` alone for backward. `object` names the call in sync points (kRecomputeBegin,
/// kRecomputeEnd).
///
/// The device that is current in the recomputation is what the instrument answers for the forward's. Generator states
/// are put back only where the first run drew numbers; the CPU's default generator is one for the process, so a
/// function that draws from it must not run beside another that does.
std::vector<at::Tensor> recomputeInBackward(RecomputedFunction function, const at::Tensor& input, std::int64_t object);

}  // namespace redraft::model
