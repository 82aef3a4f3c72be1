#pragma once
// Runs an op's CPU kernel on sim tensors: checks devices, lends the kernel CPU tensors over the same bytes, and takes
// its results back. Nothing is copied. PyTorch's own at::native::cpu_fallback copies every argument, takes the device
// from the first tensor and checks none, so it would hide the faults that this backend is for.

#include <ATen/core/boxing/KernelFunction.h>

#include "model/sim/op_plan.h"

namespace redraft::model::sim {

/// The boxed kernel of one op. Thread-safe: the plan is constant.
class SimKernel final : public c10::OperatorKernel {
 public:
  explicit SimKernel(const c10::OperatorHandle& op) : plan_(op) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const;

 private:
  OpPlan plan_;
};

/// For ops that have no kernel of their own here (registered after the backend was): looks the plan up.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace redraft::model::sim
