// The optimizer's operations on GPU tensors: launches of optimizer.cu.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/exact_math.h"
#include "model/kernels/cuda/optimizer.cuh"
#include "model/kernels/gpu_ops.h"
#include "model/kernels/gpu_program.h"
#include "model/kernels/gpu_tensors.h"
#include "model/kernels/registry.h"

namespace redraft::model::gpu {
namespace {

void launchOptimizer(const at::Tensor& on, at::ScalarType element, const char* entry, std::int64_t blocks,
                     unsigned shared, const void* argument) {
  const devices::LaunchShape shape{{static_cast<unsigned>(blocks), 1, 1}, {kOptimizerThreads, 1, 1}, shared};
  launchFused(on.device(), {FusedProgram::kOptimizer, element, entry, shape, argument});
}

void requireLike(const at::Tensor& t, const at::Tensor& master, const char* name, bool contiguous) {
  requireSameDevice("adamwStep", master, t);
  require(t.scalar_type() == at::kFloat && t.sizes() == master.sizes() && (!contiguous || t.is_contiguous()),
          "adamwStep",
          std::string(name) + " is " + describe(t) + "; it must be float32 " + (contiguous ? "and contiguous, " : "") +
              "of the shape of the first, " + describe(master));
}

/// Null where there is none: float32 parameters are their own masters.
BFloat16* copyOf(const std::optional<at::Tensor>& copy, const at::Tensor& master) {
  if (!copy.has_value() || !copy->defined()) return nullptr;
  requireSameDevice("adamwStep", master, *copy);
  require(copy->scalar_type() == at::kBFloat16 && copy->sizes() == master.sizes() && copy->is_contiguous(), "adamwStep",
          "copy is " + describe(*copy) + "; it must be bfloat16 and contiguous, of the shape of " + describe(master));
  return static_cast<BFloat16*>(copy->mutable_data_ptr());
}

template <class Pointer>
Pointer pointerTo(const at::Tensor& tensor) {
  if constexpr (std::is_same_v<Pointer, const void*>)
    return tensor.const_data_ptr();
  else
    return tensor.mutable_data_ptr<float>();
}

/// As many of `tensors` from `first` on as one launch takes.
template <class Pointer>
Span<Pointer> spanFrom(const std::vector<at::Tensor>& tensors, std::size_t first) {
  Span<Pointer> span{};
  const std::size_t last = std::min(tensors.size(), first + kSpanTensors);
  for (std::size_t i = first; i < last; ++i) {
    span.data[span.tensors] = pointerTo<Pointer>(tensors[i]);
    span.count[span.tensors] = tensors[i].numel();
    const auto blocks = static_cast<std::uint32_t>((tensors[i].numel() + kChunk - 1) / kChunk);
    span.firstBlock[span.tensors + 1] = span.firstBlock[span.tensors] + blocks;
    ++span.tensors;
  }
  return span;
}

/// One device and one type; without gaps.
std::vector<at::Tensor> flat(const char* operation, at::TensorList tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& tensor : tensors) {
    elementOf(tensor, operation, "a tensor");
    requireSameDevice(operation, tensors[0], tensor);
    require(tensor.scalar_type() == tensors[0].scalar_type(), operation,
            "types must match, but are " + describe(tensors[0]) + " and " + describe(tensor));
    all.push_back(tensor.contiguous());
  }
  return all;
}

}  // namespace

// NOLINTBEGIN(performance-unnecessary-value-param): the operator's signature
void adamwStep(at::Tensor master, at::Tensor m, at::Tensor v, const at::Tensor& gradIn, double lr, double beta1,
               double beta2, double eps, double weightDecay, std::int64_t step, const std::optional<at::Tensor>& copy) {
  // NOLINTEND(performance-unnecessary-value-param)
  requireLike(master, master, "master", true);
  requireLike(m, master, "m", true);
  requireLike(v, master, "v", true);
  requireLike(gradIn, master, "grad", false);
  require(step >= 1, "adamwStep", "step is " + std::to_string(step) + "; steps count from 1");
  const at::Tensor grad = gradIn.contiguous();
  const double bias1 = 1.0 - exactPow(beta1, static_cast<double>(step));
  const double bias2 = 1.0 - exactPow(beta2, static_cast<double>(step));
  AdamwStep a{};
  a.master = master.mutable_data_ptr<float>();
  a.m = m.mutable_data_ptr<float>();
  a.v = v.mutable_data_ptr<float>();
  a.grad = grad.const_data_ptr<float>();
  a.copy = copyOf(copy, master);
  a.count = master.numel();
  a.decay = static_cast<float>(1.0 - lr * weightDecay);
  a.oneMinusBeta1 = static_cast<float>(1.0 - beta1);
  a.beta2 = static_cast<float>(beta2);
  a.oneMinusBeta2 = static_cast<float>(1.0 - beta2);
  a.stepSize = static_cast<float>(lr / bias1);
  a.rootBias2 = static_cast<float>(std::sqrt(bias2));
  a.eps = static_cast<float>(eps);
  const bool copyWhole = a.copy == nullptr || packsAt(a.copy, sizeof(BFloat16));
  a.whole = startsPack(master) && startsPack(m) && startsPack(v) && startsPack(grad) && copyWhole ? 1 : 0;
  constexpr std::int64_t kEach = kOptimizerThreads * kPack;
  launchOptimizer(master, at::kFloat, "adamw_step", (a.count + kEach - 1) / kEach, 0, &a);
}

at::Tensor sumsOfSquares(at::TensorList tensors) {
  const std::vector<at::Tensor> all = flat("sumOfSquares", tensors);
  if (all.empty()) return at::empty({0}, at::kDouble);
  const auto doubles = all.front().options().dtype(at::kDouble);
  at::Tensor sums = at::empty({static_cast<std::int64_t>(all.size())}, doubles);
  for (std::size_t first = 0; first < all.size(); first += kSpanTensors) {
    SumsOfSquares a{spanFrom<const void*>(all, first), nullptr, sums.mutable_data_ptr<double>() + first};
    const std::uint32_t blocks = a.span.firstBlock[a.span.tensors];
    const at::Tensor partial = at::empty({blocks}, doubles);
    a.partial = partial.mutable_data_ptr<double>();
    const at::ScalarType element = all.front().scalar_type();
    launchOptimizer(sums, element, "sum_of_squares_partial", blocks, kSquaresShared, &a);
    launchOptimizer(sums, element, "sum_of_squares_total", a.span.tensors, kSquaresShared, &a);
  }
  return sums;
}

at::Tensor sumOfSquares(const at::Tensor& x) { return sumsOfSquares({x}).squeeze(0); }

void scaleAll(at::TensorList tensors, double factor) {
  for (const at::Tensor& tensor : tensors)
    require(tensor.scalar_type() == at::kFloat && tensor.is_contiguous(), "scaleAll",
            "a tensor is " + describe(tensor) + "; it must be float32 and contiguous");
  const std::vector<at::Tensor> all = flat("scaleAll", tensors);
  for (std::size_t first = 0; first < all.size(); first += kSpanTensors) {
    const ScaleAll a{spanFrom<float*>(all, first), static_cast<float>(factor)};
    launchOptimizer(all.front(), at::kFloat, "scale_all", a.span.firstBlock[a.span.tensors], 0, &a);
  }
}

}  // namespace redraft::model::gpu
