#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "model/kernels/ops.h"
#include "model/kernels/registry.h"
#include "model/kernels/simd/gemm.h"

namespace redraft::model {
namespace linear_op {
namespace {

constexpr const char* kName = "linear";

std::int64_t leading(const at::Tensor& t) {
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i + 1 < t.dim(); ++i) rows *= t.size(i);
  return rows;
}

void requirePair(const at::Tensor& a, const char* aName, const at::Tensor& b, const char* bName, std::int64_t inner,
                 std::int64_t wanted) {
  require(
      a.scalar_type() == b.scalar_type(), kName,
      std::string(aName) + " is " + describe(a) + " but " + bName + " is " + describe(b) + "; the types must match");
  require(inner == wanted, kName,
          std::string(aName) + " " + describe(a) + " does not fit " + bName + " " + describe(b) + ": " +
              std::to_string(inner) + " against " + std::to_string(wanted));
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& weight) {
  const simd::Element element = elementOf(x, kName, "x");
  require(weight.dim() == 2, kName, "weight is " + describe(weight) + "; it must be [out, in]");
  require(x.dim() >= 1, kName, "x is " + describe(x) + "; it must be [..., in]");
  requirePair(x, "x", weight, "weight", x.size(-1), weight.size(1));
  const at::Tensor a = x.contiguous(), w = weight.contiguous();
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = w.size(0);
  at::Tensor y = at::empty(shape, x.options());
  const std::int64_t depth = w.size(1);
  simd::multiply({leading(a),
                  w.size(0),
                  depth,
                  {a.const_data_ptr(), depth, false},
                  {w.const_data_ptr(), depth, true},
                  y.mutable_data_ptr(),
                  element});
  return y;
}

at::Tensor gradInput(const at::Tensor& grad, const at::Tensor& weight) {
  const simd::Element element = elementOf(grad, kName, "grad");
  requirePair(grad, "grad", weight, "weight", grad.size(-1), weight.size(0));
  const at::Tensor g = grad.contiguous(), w = weight.contiguous();
  std::vector<std::int64_t> shape = grad.sizes().vec();
  shape.back() = w.size(1);
  at::Tensor dx = at::empty(shape, grad.options());
  simd::multiply({leading(g),
                  w.size(1),
                  w.size(0),
                  {g.const_data_ptr(), w.size(0), false},
                  {w.const_data_ptr(), w.size(1), false},
                  dx.mutable_data_ptr(),
                  element});
  return dx;
}

at::Tensor gradWeight(const at::Tensor& grad, const at::Tensor& x) {
  const simd::Element element = elementOf(grad, kName, "grad");
  requirePair(grad, "grad", x, "x", leading(grad), leading(x));
  const at::Tensor g = grad.contiguous(), a = x.contiguous();
  const std::int64_t out = g.size(-1), in = a.size(-1);
  at::Tensor dw = at::empty({out, in}, grad.options());
  simd::multiply({out,
                  in,
                  leading(g),
                  {g.const_data_ptr(), out, true},
                  {a.const_data_ptr(), in, false},
                  dw.mutable_data_ptr(),
                  element});
  return dw;
}

using Binary = at::Tensor(const at::Tensor&, const at::Tensor&);

at::Tensor callForward(const at::Tensor& x, const at::Tensor& weight) {
  static const auto op = findOperator<Binary>("redraft::linear");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(x, weight);
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight) {
    ctx->save_for_backward({x, weight});
    return callForward(x, weight);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    static const auto input = findOperator<Binary>("redraft::linear_grad_input");
    static const auto weightOp = findOperator<Binary>("redraft::linear_grad_weight");
    at::AutoDispatchBelowADInplaceOrView guard;
    const auto saved = ctx->get_saved_variables();
    return {ctx->needs_input_grad(0) ? input.call(grads[0], saved[1]) : at::Tensor(),
            ctx->needs_input_grad(1) ? weightOp.call(grads[0], saved[0]) : at::Tensor()};
  }
};

}  // namespace
}  // namespace linear_op

void registerLinear(torch::Library& library) {
  library.def("linear(Tensor x, Tensor weight) -> Tensor");
  library.def("linear_grad_input(Tensor grad, Tensor weight) -> Tensor");
  library.def("linear_grad_weight(Tensor grad, Tensor x) -> Tensor");
  library.impl("linear", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(linear_op::forward)));
  library.impl("linear_grad_input", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(linear_op::gradInput)));
  library.impl("linear_grad_weight", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(linear_op::gradWeight)));
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight) {
  const bool differentiate = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
  return differentiate ? linear_op::LinearFunction::apply(x, weight) : linear_op::callForward(x, weight);
}

}  // namespace redraft::model
