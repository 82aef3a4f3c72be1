#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/exact_math.h"
#include "model/kernels/ops.h"
#include "model/kernels/parallel.h"
#include "model/kernels/registry.h"
#include "model/kernels/simd/optimizer.h"

namespace redraft::model {
namespace optimizer_op {
namespace {

constexpr std::int64_t kGrain = 16384;

template <class Work>
void overElements(std::int64_t count, Work work) {
  parallelFor((count + kGrain - 1) / kGrain, 1,
              [&](std::int64_t begin, std::int64_t end) { work(begin * kGrain, std::min(count, end * kGrain)); });
}

void requireFlat(const at::Tensor& t, const at::Tensor& like, const char* operation, const char* argument,
                 bool contiguous) {
  require(t.scalar_type() == at::kFloat && t.sizes() == like.sizes() && (!contiguous || t.is_contiguous()), operation,
          std::string(argument) + " is " + describe(t) + "; it must be float32 " +
              (contiguous ? "and contiguous, " : "") + "of the shape of the first, " + describe(like));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the operator's signature
void adamw(at::Tensor master, at::Tensor m, at::Tensor v, const at::Tensor& gradIn, double lr, double beta1,
           double beta2, double eps, double weightDecay, std::int64_t step, const std::optional<at::Tensor>& copy) {
  constexpr const char* kName = "adamwStep";
  requireFlat(master, master, kName, "master", true);
  requireFlat(m, master, kName, "m", true);
  requireFlat(v, master, kName, "v", true);
  requireFlat(gradIn, master, kName, "grad", false);
  require(step >= 1, kName, "step is " + std::to_string(step) + "; steps count from 1");
  const at::Tensor grad = gradIn.contiguous();
  const double bias1 = 1.0 - exactPow(beta1, static_cast<double>(step));
  const double bias2 = 1.0 - exactPow(beta2, static_cast<double>(step));
  const simd::AdamwScalars scalars{static_cast<float>(1.0 - lr * weightDecay),
                                   static_cast<float>(1.0 - beta1),
                                   static_cast<float>(beta2),
                                   static_cast<float>(1.0 - beta2),
                                   static_cast<float>(lr / bias1),
                                   static_cast<float>(std::sqrt(bias2)),
                                   static_cast<float>(eps)};
  float *p = master.mutable_data_ptr<float>(), *first = m.mutable_data_ptr<float>(),
        *second = v.mutable_data_ptr<float>();
  const float* g = grad.const_data_ptr<float>();
  overElements(master.numel(),
               [&](std::int64_t begin, std::int64_t end) { simd::adamw(scalars, p, first, second, g, begin, end); });
  if (copy.has_value() && copy->defined()) copy->copy_(master);
}

at::Tensor squares(const at::Tensor& xIn) {
  const simd::Element element = elementOf(xIn, "sumOfSquares", "x");
  const at::Tensor x = xIn.contiguous();
  const std::int64_t blocks = (x.numel() + simd::kSumBlock - 1) / simd::kSumBlock;
  std::vector<double> sums(static_cast<std::size_t>(blocks));
  parallelFor(blocks, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      sums[static_cast<std::size_t>(i)] = simd::blockSumOfSquares(element, x.const_data_ptr(), x.numel(), i);
    }
  });
  for (std::size_t stride = 1; stride < sums.size(); stride *= 2) {
    for (std::size_t i = 0; i + stride < sums.size(); i += 2 * stride) sums[i] += sums[i + stride];
  }
  return at::full({}, sums.empty() ? 0.0 : sums[0], x.options().dtype(at::kDouble));
}

at::Tensor add(const at::Tensor& aIn, const at::Tensor& bIn) {
  requireFlat(aIn, aIn, "addExact", "a", false);
  requireFlat(bIn, aIn, "addExact", "b", false);
  const at::Tensor a = aIn.contiguous(), b = bIn.contiguous();
  at::Tensor out = at::empty(a.sizes(), a.options());
  float* to = out.mutable_data_ptr<float>();
  overElements(out.numel(), [&](std::int64_t begin, std::int64_t end) {
    simd::addExact(a.const_data_ptr<float>(), b.const_data_ptr<float>(), to, begin, end);
  });
  return out;
}

}  // namespace
}  // namespace optimizer_op

void registerOptimizer(torch::Library& library) {
  library.def(
      "adamw_step(Tensor(a!) master, Tensor(b!) m, Tensor(c!) v, Tensor grad, float lr, float beta1, float beta2, "
      "float eps, float weight_decay, int step, Tensor(d!)? copy=None) -> ()");
  library.def("sum_of_squares(Tensor x) -> Tensor");
  // Lists, for GPUs alone: a launch takes many.
  library.def("sums_of_squares(Tensor[] xs) -> Tensor");
  library.def("scale_all(Tensor(a!)[] xs, float factor) -> ()");
  library.def("add_exact(Tensor a, Tensor b) -> Tensor");
  library.impl("adamw_step", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(optimizer_op::adamw)));
  library.impl("sum_of_squares", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(optimizer_op::squares)));
  library.impl("add_exact", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(optimizer_op::add)));
}

void adamwStep(at::Tensor& master, at::Tensor& m, at::Tensor& v, const at::Tensor& grad, double lr, double beta1,
               double beta2, double eps, double weightDecay, std::int64_t step, const std::optional<at::Tensor>& copy) {
  using Step = void(at::Tensor, at::Tensor, at::Tensor, const at::Tensor&, double, double, double, double, double,
                    std::int64_t, const std::optional<at::Tensor>&);
  static const auto op = findOperator<Step>("redraft::adamw_step");
  at::AutoDispatchBelowADInplaceOrView guard;
  op.call(master, m, v, grad, lr, beta1, beta2, eps, weightDecay, step, copy);
}

double sumOfSquares(const at::Tensor& x) {
  static const auto op = findOperator<at::Tensor(const at::Tensor&)>("redraft::sum_of_squares");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(x).item<double>();
}

namespace {

/// And of one type: then the operations on lists take them.
bool onOneGpu(const std::vector<at::Tensor>& tensors) {
  return !tensors.empty() && tensors.front().is_cuda() &&
         std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
           return tensor.device() == tensors.front().device() && tensor.scalar_type() == tensors.front().scalar_type();
         });
}

at::Tensor eachSumOfSquares(const std::vector<at::Tensor>& tensors) {
  if (onOneGpu(tensors)) {
    static const auto all = findOperator<at::Tensor(at::TensorList)>("redraft::sums_of_squares");
    return all.call(tensors);
  }
  static const auto op = findOperator<at::Tensor(const at::Tensor&)>("redraft::sum_of_squares");
  std::vector<at::Tensor> sums;
  sums.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) sums.push_back(op.call(tensor));
  return at::stack(sums);
}

}  // namespace

std::vector<double> sumsOfSquares(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return {};
  at::AutoDispatchBelowADInplaceOrView guard;
  const at::Tensor host = eachSumOfSquares(tensors).cpu();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

void scaleAll(const std::vector<at::Tensor>& tensors, double factor) {
  at::AutoDispatchBelowADInplaceOrView guard;
  const bool plain = std::all_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
  });
  if (plain && onOneGpu(tensors)) {
    static const auto op = findOperator<void(at::TensorList, double)>("redraft::scale_all");
    op.call(tensors, factor);
    return;
  }
  for (const at::Tensor& tensor : tensors) tensor.mul_(factor);
}

at::Tensor addExact(const at::Tensor& a, const at::Tensor& b) {
  static const auto op = findOperator<at::Tensor(const at::Tensor&, const at::Tensor&)>("redraft::add_exact");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(a, b);
}

}  // namespace redraft::model
