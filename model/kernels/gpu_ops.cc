#include "model/kernels/gpu_ops.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <cmath>

#include "base/exact_math.h"
#include "model/kernels/registry.h"

namespace redraft::model::gpu {
namespace {

at::Tensor rowsOf(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

at::Tensor withLast(const at::Tensor& rows, const at::Tensor& like) {
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape.back() = rows.size(1);
  return rows.view(shape);
}

at::Tensor floats(const at::Tensor& x) { return x.to(at::kFloat); }

at::Tensor nothing(const at::Tensor& like) { return at::empty({0}, like.options()); }

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight) { return withLast(rowsOf(x).mm(weight.t()), x); }

at::Tensor linearGradInput(const at::Tensor& grad, const at::Tensor& weight) {
  return withLast(rowsOf(grad).mm(weight), grad);
}

at::Tensor linearGradWeight(const at::Tensor& grad, const at::Tensor& x) { return rowsOf(grad).t().mm(rowsOf(x)); }

std::tuple<at::Tensor, at::Tensor> rmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor values = floats(x);
  const at::Tensor r = values.square().mean(-1, true).add_(eps).rsqrt_();
  const at::Tensor y = (values * r).mul_(floats(weight)).to(x.scalar_type());
  return {y, r.reshape({-1})};
}

std::tuple<at::Tensor, at::Tensor> rmsNormBackward(const at::Tensor& grad, const at::Tensor& x,
                                                   const at::Tensor& weight, const at::Tensor& rms, bool wantInput,
                                                   bool wantWeight) {
  const at::Tensor g = rowsOf(floats(grad)), values = rowsOf(floats(x)), r = rms.unsqueeze(1);
  at::Tensor dx = nothing(x), dw = nothing(x);
  if (wantInput) {
    const at::Tensor weighted = g * floats(weight);
    const at::Tensor pull = (weighted * values).mean(-1, true).mul_(r.pow(3));
    dx = (weighted * r).sub_(values * pull).view_as(x).to(x.scalar_type());
  }
  if (wantWeight) dw = (g * (values * r)).sum(0).to(weight.scalar_type());
  return {dx, dw};
}

at::Tensor siluMul(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor x = floats(gate);
  return (x * at::sigmoid(x)).mul_(floats(up)).to(gate.scalar_type());
}

std::tuple<at::Tensor, at::Tensor> siluMulBackward(const at::Tensor& grad, const at::Tensor& gate,
                                                   const at::Tensor& up) {
  const at::Tensor g = floats(grad), x = floats(gate), s = at::sigmoid(x);
  const at::Tensor slope = (x * (1.0 - s)).add_(1.0).mul_(s);
  return {(g * floats(up)).mul_(slope).to(gate.scalar_type()), (g * (x * s)).to(gate.scalar_type())};
}

std::tuple<at::Tensor, at::Tensor> ropeTable(const at::Tensor& positions, std::int64_t headDim, double theta) {
  const auto options = positions.options().dtype(at::kFloat);
  // As ops_rope.cc: the power, cosine and sine in float64, so that rounding to float32 gives what exact ones give.
  const at::Tensor exponent = at::arange(0, headDim, 2, options).div_(static_cast<double>(headDim));
  const at::Tensor frequency = floats(at::pow(theta, exponent.to(at::kDouble))).reciprocal_();
  const at::Tensor angle = (floats(positions).unsqueeze(-1) * frequency).to(at::kDouble);
  return {floats(at::cos(angle)), floats(at::sin(angle))};
}

at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool back) {
  const std::vector<at::Tensor> half = floats(x).chunk(2, -1);
  const at::Tensor c = cos.unsqueeze(1), s = back ? sin.neg().unsqueeze(1) : sin.unsqueeze(1);
  return at::cat({half[0] * c - half[1] * s, half[1] * c + half[0] * s}, -1).to(x.scalar_type());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> crossEntropy(const at::Tensor& logits,
                                                                        const at::Tensor& labels) {
  const at::Tensor values = floats(logits);
  const at::Tensor ignored = labels.lt(0);
  const at::Tensor lse = values.logsumexp(1);
  const at::Tensor picked = values.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
  const at::Tensor loss = (lse - picked).masked_fill_(ignored, 0.0);
  const at::Tensor probability = (picked - lse).exp_().masked_fill_(ignored, 0.0);
  return {loss, values.argmax(1), probability, lse};
}

at::Tensor crossEntropyBackward(const at::Tensor& grad, const at::Tensor& logits, const at::Tensor& labels,
                                const at::Tensor& lse) {
  const at::Tensor column = labels.unsqueeze(1);
  at::Tensor out = (floats(logits) - lse.unsqueeze(1)).exp_();
  // A comparison, not a scatter: every element is written once, whatever the order.
  out.sub_(at::arange(logits.size(1), labels.options()).unsqueeze(0).eq(column).to(at::kFloat));
  return out.mul_(grad.unsqueeze(1)).masked_fill_(column.lt(0), 0.0).to(logits.scalar_type());
}

// NOLINTBEGIN(performance-unnecessary-value-param): the operator's signature
void adamwStep(at::Tensor master, at::Tensor m, at::Tensor v, const at::Tensor& grad, double lr, double beta1,
               double beta2, double eps, double weightDecay, std::int64_t step) {
  // NOLINTEND(performance-unnecessary-value-param)
  require(step >= 1, "adamwStep", "step is " + std::to_string(step) + "; steps count from 1");
  const double bias1 = 1.0 - exactPow(beta1, static_cast<double>(step));
  const double bias2 = 1.0 - exactPow(beta2, static_cast<double>(step));
  m.lerp_(grad, 1.0 - beta1);
  v.mul_(beta2).addcmul_(grad, grad, 1.0 - beta2);
  const at::Tensor root = v.sqrt().div_(std::sqrt(bias2)).add_(eps);
  master.mul_(1.0 - lr * weightDecay).addcdiv_(m, root, -lr / bias1);
}

at::Tensor sumOfSquares(const at::Tensor& x) {
  // The norm accumulates in float64 without a float64 copy of x.
  return at::linalg_vector_norm(x.reshape({-1}), 2, at::OptionalIntArrayRef(), false, at::kDouble).square_();
}

at::Tensor addExact(const at::Tensor& a, const at::Tensor& b) { return a + b; }

void registerOps(torch::Library& library) {
  const auto add = [&](const char* name, auto function) {
    library.impl(name, torch::dispatch(c10::DispatchKey::CUDA, function));
  };
  add("linear", TORCH_FN(linear));
  add("linear_grad_input", TORCH_FN(linearGradInput));
  add("linear_grad_weight", TORCH_FN(linearGradWeight));
  add("rms_norm", TORCH_FN(rmsNorm));
  add("rms_norm_backward", TORCH_FN(rmsNormBackward));
  add("silu_mul", TORCH_FN(siluMul));
  add("silu_mul_backward", TORCH_FN(siluMulBackward));
  add("rope_table", TORCH_FN(ropeTable));
  add("rope", TORCH_FN(rope));
  add("cross_entropy", TORCH_FN(crossEntropy));
  add("cross_entropy_backward", TORCH_FN(crossEntropyBackward));
  add("adamw_step", TORCH_FN(adamwStep));
  add("sum_of_squares", TORCH_FN(sumOfSquares));
  add("add_exact", TORCH_FN(addExact));
}

}  // namespace redraft::model::gpu
