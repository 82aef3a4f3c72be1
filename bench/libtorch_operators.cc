#include "bench/libtorch_operators.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <cmath>
#include <tuple>

#include "model/kernels/registry.h"

namespace redraft::model {
namespace {

at::Tensor rows(const at::Tensor& t) { return t.reshape({-1, t.size(-1)}); }

at::Tensor linearForward(const at::Tensor& x, const at::Tensor& weight) { return at::linear(x, weight); }

at::Tensor linearGradInput(const at::Tensor& grad, const at::Tensor& weight) { return at::matmul(grad, weight); }

at::Tensor linearGradWeight(const at::Tensor& grad, const at::Tensor& x) { return at::mm(rows(grad).t(), rows(x)); }

std::tuple<at::Tensor, at::Tensor> norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor scale = at::rsqrt(x.square().mean(-1, true) + eps);
  return {x.mul(scale).mul_(weight), scale};
}

std::tuple<at::Tensor, at::Tensor> normBackward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                                const at::Tensor& scale, bool wantInput, bool wantWeight) {
  const at::Tensor unit = x * scale, weighted = grad * weight;
  at::Tensor dx, dw;
  if (wantInput) dx = (weighted - unit * (weighted * unit).mean(-1, true)).mul_(scale);
  if (wantWeight) dw = rows(grad * unit).sum(0);
  return {dx, dw};
}

at::Tensor siluMul(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate).mul_(up); }

std::tuple<at::Tensor, at::Tensor> siluMulBackward(const at::Tensor& grad, const at::Tensor& gate,
                                                   const at::Tensor& up) {
  return {at::silu_backward(grad * up, gate), grad * at::silu(gate)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> entropy(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor lse = at::logsumexp(logits, 1);
  const at::Tensor chosen = logits.gather(1, labels.unsqueeze(1)).squeeze(1);
  return {lse - chosen, logits.argmax(1), (chosen - lse).exp(), lse};
}

at::Tensor entropyBackward(const at::Tensor& grad, const at::Tensor& logits, const at::Tensor& labels,
                           const at::Tensor& lse) {
  at::Tensor out = (logits - lse.unsqueeze(1)).exp_();
  out.scatter_add_(1, labels.unsqueeze(1), at::full({1, 1}, -1.0, logits.options()).expand({logits.size(0), 1}));
  return out.mul_(grad.unsqueeze(1));
}

// NOLINTBEGIN(performance-unnecessary-value-param): the operator's signature
void adamw(at::Tensor master, at::Tensor m, at::Tensor v, const at::Tensor& grad, double lr, double beta1, double beta2,
           double eps, double weightDecay, std::int64_t step, const std::optional<at::Tensor>& /*copy*/) {
  at::Tensor count = at::full({}, static_cast<double>(step - 1), at::kFloat);
  at::_fused_adamw_({master}, {grad}, {m}, {v}, {}, {count.add_(1)}, lr, beta1, beta2, weightDecay, eps, false, false);
}
// NOLINTEND(performance-unnecessary-value-param)

at::Tensor squares(const at::Tensor& x) { return at::dot(x.reshape({-1}), x.reshape({-1})).to(at::kDouble); }

}  // namespace

LibTorchOperators::LibTorchOperators() {
  ensureOperatorsRegistered();
  library_ =
      std::make_unique<torch::Library>(torch::Library::IMPL, "redraft", c10::DispatchKey::CPU, __FILE__, __LINE__);
  library_->impl("linear", TORCH_FN(linearForward));
  library_->impl("linear_grad_input", TORCH_FN(linearGradInput));
  library_->impl("linear_grad_weight", TORCH_FN(linearGradWeight));
  library_->impl("rms_norm", TORCH_FN(norm));
  library_->impl("rms_norm_backward", TORCH_FN(normBackward));
  library_->impl("silu_mul", TORCH_FN(siluMul));
  library_->impl("silu_mul_backward", TORCH_FN(siluMulBackward));
  library_->impl("cross_entropy", TORCH_FN(entropy));
  library_->impl("cross_entropy_backward", TORCH_FN(entropyBackward));
  library_->impl("adamw_step", TORCH_FN(adamw));
  library_->impl("sum_of_squares", TORCH_FN(squares));
}

LibTorchOperators::~LibTorchOperators() = default;

}  // namespace redraft::model
