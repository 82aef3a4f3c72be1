#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "model/kernels/ops.h"
#include "model/kernels/parallel.h"
#include "model/kernels/registry.h"
#include "model/kernels/simd/rows.h"

namespace redraft::model {
namespace norm_op {
namespace {

constexpr const char* kName = "rmsNorm";

std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& xIn, const at::Tensor& weightIn, double eps) {
  const simd::Element element = elementOf(xIn, kName, "x");
  require(xIn.dim() >= 1 && weightIn.dim() == 1 && weightIn.size(0) == xIn.size(-1) &&
              weightIn.scalar_type() == xIn.scalar_type(),
          kName,
          "x is " + describe(xIn) + " and weight " + describe(weightIn) + "; weight must be one row of x, of its type");
  const at::Tensor x = xIn.contiguous(), weight = weightIn.contiguous();
  const std::int64_t width = x.size(-1), rows = width == 0 ? 0 : x.numel() / width;
  at::Tensor y = at::empty_like(x);
  at::Tensor rms = at::empty({rows}, x.options().dtype(at::kFloat));
  const simd::RmsNormArguments a{
      x.const_data_ptr(),     weight.const_data_ptr(), y.mutable_data_ptr(), rms.mutable_data_ptr<float>(), width,
      static_cast<float>(eps)};
  parallelFor(rows, rowGrain(width),
              [&](std::int64_t begin, std::int64_t end) { simd::rmsNormForward(element, a, begin, end); });
  return {y, rms};
}

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& gradIn, const at::Tensor& xIn, const at::Tensor& weightIn,
                                            const at::Tensor& rms, bool wantInput, bool wantWeight) {
  const simd::Element element = elementOf(xIn, kName, "x");
  require(gradIn.sizes() == xIn.sizes() && gradIn.scalar_type() == xIn.scalar_type(), kName,
          "grad is " + describe(gradIn) + " but x " + describe(xIn));
  const at::Tensor grad = gradIn.contiguous(), x = xIn.contiguous(), weight = weightIn.contiguous();
  const std::int64_t width = x.size(-1), rows = rms.numel();
  at::Tensor dx = wantInput ? at::empty_like(x) : at::empty({0}, x.options());
  at::Tensor dw = wantWeight ? at::zeros_like(weight) : at::empty({0}, x.options());
  const simd::RmsNormGradArguments a{grad.const_data_ptr(),       x.const_data_ptr(),    weight.const_data_ptr(),
                                     rms.const_data_ptr<float>(), dx.mutable_data_ptr(), width};
  if (wantInput) {
    parallelFor(rows, rowGrain(width),
                [&](std::int64_t begin, std::int64_t end) { simd::rmsNormGradInput(element, a, begin, end); });
  }
  if (wantWeight && rows > 0) {
    const std::int64_t groups = (rows + simd::kRowGroup - 1) / simd::kRowGroup;
    at::Tensor partial = at::empty({groups, width}, x.options().dtype(at::kFloat));
    float* sums = partial.mutable_data_ptr<float>();
    parallelFor(groups, rowGrain(width * simd::kRowGroup), [&](std::int64_t begin, std::int64_t end) {
      simd::rmsNormGradWeightPartial(element, a, rows, sums, begin, end);
    });
    simd::pairwiseRows(sums, groups, width);
    simd::storeRow(element, sums, width, dw.mutable_data_ptr());
  }
  return {dx, dw};
}

using Forward = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, double);
using Backward = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                    const at::Tensor&, bool, bool);

std::tuple<at::Tensor, at::Tensor> callForward(const at::Tensor& x, const at::Tensor& weight, double eps) {
  static const auto op = findOperator<Forward>("redraft::rms_norm");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(x, weight, eps);
}

struct RmsNormFunction : torch::autograd::Function<RmsNormFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            double eps) {
    auto [y, rms] = callForward(x, weight, eps);
    ctx->save_for_backward({x, weight, rms});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    static const auto op = findOperator<Backward>("redraft::rms_norm_backward");
    at::AutoDispatchBelowADInplaceOrView guard;
    const auto saved = ctx->get_saved_variables();
    const bool wantInput = ctx->needs_input_grad(0), wantWeight = ctx->needs_input_grad(1);
    auto [dx, dw] = op.call(grads[0], saved[0], saved[1], saved[2], wantInput, wantWeight);
    return {wantInput ? dx : at::Tensor(), wantWeight ? dw : at::Tensor(), at::Tensor()};
  }
};

}  // namespace
}  // namespace norm_op

void registerNorm(torch::Library& library) {
  library.def("rms_norm(Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)");
  library.def(
      "rms_norm_backward(Tensor grad, Tensor x, Tensor weight, Tensor rms, bool want_input, bool want_weight) -> "
      "(Tensor, Tensor)");
  library.impl("rms_norm", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(norm_op::forward)));
  library.impl("rms_norm_backward", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(norm_op::backward)));
}

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const bool differentiate = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
  return differentiate ? norm_op::RmsNormFunction::apply(x, weight, eps)
                       : std::get<0>(norm_op::callForward(x, weight, eps));
}

}  // namespace redraft::model
