#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "base/exact_math.h"
#include "model/kernels/ops.h"
#include "model/kernels/parallel.h"
#include "model/kernels/registry.h"
#include "model/kernels/simd/rows.h"

namespace redraft::model {
namespace rope_op {
namespace {

constexpr const char* kName = "applyRope";

std::tuple<at::Tensor, at::Tensor> table(const at::Tensor& positionsIn, std::int64_t headDim, double theta) {
  require(positionsIn.dim() == 2 && positionsIn.scalar_type() == at::kLong, "ropeTable",
          "positions are " + describe(positionsIn) + "; they must be int64 [B, T]");
  require(headDim > 0 && headDim % 2 == 0, "ropeTable",
          "head dim " + std::to_string(headDim) + " is not a positive even number");
  require(theta > 0, "ropeTable", "theta " + std::to_string(theta) + " is not above 0");
  const at::Tensor positions = positionsIn.contiguous();
  const std::int64_t half = headDim / 2, tokens = positions.numel();
  std::vector<float> frequency(static_cast<std::size_t>(half));
  for (std::int64_t i = 0; i < half; ++i) {
    // Qwen3RotaryEmbedding: 1 / theta ** (arange(0, d, 2).float() / d), every step rounded to float32.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(headDim);
    frequency[static_cast<std::size_t>(i)] = 1.0f / static_cast<float>(exactPow(theta, exponent));
  }
  const auto options = positions.options().dtype(at::kFloat);
  const std::vector<std::int64_t> shape{positions.size(0), positions.size(1), half};
  at::Tensor cos = at::empty(shape, options), sin = at::empty(shape, options);
  float *c = cos.mutable_data_ptr<float>(), *s = sin.mutable_data_ptr<float>();
  const std::int64_t* at = positions.const_data_ptr<std::int64_t>();
  parallelFor(tokens, rowGrain(half * 16), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * half; i < end * half; ++i) {
      const std::int64_t token = i / half;
      const float angle = static_cast<float>(at[token]) * frequency[static_cast<std::size_t>(i % half)];
      c[i] = static_cast<float>(exactCos(angle));
      s[i] = static_cast<float>(exactSin(angle));
    }
  });
  return {cos, sin};
}

at::Tensor rotate(const at::Tensor& xIn, const at::Tensor& cosIn, const at::Tensor& sinIn, bool back) {
  const simd::Element element = elementOf(xIn, kName, "x");
  require(xIn.dim() == 4 && xIn.size(3) % 2 == 0, kName,
          "x is " + describe(xIn) + "; it must be [B, heads, T, d] with even d");
  const std::int64_t batch = xIn.size(0), heads = xIn.size(1), tokens = xIn.size(2), headDim = xIn.size(3);
  for (const at::Tensor* t : {&cosIn, &sinIn}) {
    require(t->scalar_type() == at::kFloat && t->sizes() == at::IntArrayRef({batch, tokens, headDim / 2}), kName,
            "cos and sin must be float32 [B, T, d / 2] for x " + describe(xIn) + ", but one is " + describe(*t));
  }
  const at::Tensor x = xIn.stride(3) == 1 ? xIn : xIn.contiguous();
  const at::Tensor cos = cosIn.contiguous(), sin = sinIn.contiguous();
  at::Tensor y = at::empty(x.sizes(), x.options());
  const simd::RopeArguments a{x.const_data_ptr(),
                              cos.const_data_ptr<float>(),
                              sin.const_data_ptr<float>(),
                              y.mutable_data_ptr(),
                              heads,
                              tokens,
                              headDim,
                              x.stride(0),
                              x.stride(1),
                              x.stride(2),
                              back ? -1.0f : 1.0f};
  parallelFor(batch * heads * tokens, rowGrain(headDim),
              [&](std::int64_t begin, std::int64_t end) { simd::ropeRows(element, a, begin, end); });
  return y;
}

using Rotate = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, bool);

at::Tensor callRotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool back) {
  static const auto op = findOperator<Rotate>("redraft::rope");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(x, cos, sin, back);
}

struct RopeFunction : torch::autograd::Function<RopeFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin) {
    ctx->save_for_backward({cos, sin});
    return callRotate(x, cos, sin, false);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    return {callRotate(grads[0], saved[0], saved[1], true), at::Tensor(), at::Tensor()};
  }
};

}  // namespace
}  // namespace rope_op

void registerRope(torch::Library& library) {
  library.def("rope_table(Tensor positions, int head_dim, float theta) -> (Tensor, Tensor)");
  library.def("rope(Tensor x, Tensor cos, Tensor sin, bool back) -> Tensor");
  library.impl("rope_table", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(rope_op::table)));
  library.impl("rope", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(rope_op::rotate)));
}

std::tuple<at::Tensor, at::Tensor> ropeTable(const at::Tensor& positions, std::int64_t headDim, double theta) {
  using Table = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, std::int64_t, double);
  static const auto op = findOperator<Table>("redraft::rope_table");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(positions, headDim, theta);
}

at::Tensor applyRope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const bool differentiate = at::GradMode::is_enabled() && x.requires_grad();
  return differentiate ? rope_op::RopeFunction::apply(x, cos, sin) : rope_op::callRotate(x, cos, sin, false);
}

}  // namespace redraft::model
