#include "model/kernels/gpu_ops.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <vector>

namespace redraft::model::gpu {
namespace {

at::Tensor rowsOf(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

at::Tensor withLast(const at::Tensor& rows, const at::Tensor& like) {
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape.back() = rows.size(1);
  return rows.view(shape);
}

at::Tensor floats(const at::Tensor& x) { return x.to(at::kFloat); }

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight) { return withLast(rowsOf(x).mm(weight.t()), x); }

at::Tensor linearGradInput(const at::Tensor& grad, const at::Tensor& weight) {
  return withLast(rowsOf(grad).mm(weight), grad);
}

at::Tensor linearGradWeight(const at::Tensor& grad, const at::Tensor& x) { return rowsOf(grad).t().mm(rowsOf(x)); }

std::tuple<at::Tensor, at::Tensor> ropeTable(const at::Tensor& positions, std::int64_t headDim, double theta) {
  const auto options = positions.options().dtype(at::kFloat);
  // As ops_rope.cc: the power, cosine and sine in float64, so that rounding to float32 gives what exact ones give.
  const at::Tensor exponent = at::arange(0, headDim, 2, options).div_(static_cast<double>(headDim));
  const at::Tensor frequency = floats(at::pow(theta, exponent.to(at::kDouble))).reciprocal_();
  const at::Tensor angle = (floats(positions).unsqueeze(-1) * frequency).to(at::kDouble);
  return {floats(at::cos(angle)), floats(at::sin(angle))};
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
  add("sums_of_squares", TORCH_FN(sumsOfSquares));
  add("scale_all", TORCH_FN(scaleAll));
  add("add_exact", TORCH_FN(addExact));
}

}  // namespace redraft::model::gpu
