#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "model/kernels/ops.h"
#include "model/kernels/parallel.h"
#include "model/kernels/registry.h"
#include "model/kernels/simd/rows.h"

namespace redraft::model {
namespace activation_op {
namespace {

constexpr const char* kName = "siluMul";
// A multiple of the vector's length, so that only the last piece has a tail.
constexpr std::int64_t kGrain = 16384;

/// Pieces of kGrain elements; the split into vectors is the same for any thread count.
template <class Work>
void overElements(std::int64_t count, Work work) {
  parallelFor((count + kGrain - 1) / kGrain, 1,
              [&](std::int64_t begin, std::int64_t end) { work(begin * kGrain, std::min(count, end * kGrain)); });
}

void requireSame(const at::Tensor& a, const at::Tensor& b, const char* names) {
  require(a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type(), kName,
          std::string(names) + " must be alike, but are " + describe(a) + " and " + describe(b));
}

at::Tensor forward(const at::Tensor& gateIn, const at::Tensor& upIn) {
  const simd::Element element = elementOf(gateIn, kName, "gate");
  requireSame(gateIn, upIn, "gate and up");
  const at::Tensor gate = gateIn.contiguous(), up = upIn.contiguous();
  at::Tensor out = at::empty(gate.sizes(), gate.options());
  void* to = out.mutable_data_ptr();
  overElements(out.numel(), [&](std::int64_t begin, std::int64_t end) {
    simd::siluMulForward(element, gate.const_data_ptr(), up.const_data_ptr(), to, begin, end);
  });
  return out;
}

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& gradIn, const at::Tensor& gateIn,
                                            const at::Tensor& upIn) {
  const simd::Element element = elementOf(gateIn, kName, "gate");
  requireSame(gradIn, gateIn, "grad and gate");
  const at::Tensor grad = gradIn.contiguous(), gate = gateIn.contiguous(), up = upIn.contiguous();
  at::Tensor gradGate = at::empty(gate.sizes(), gate.options()), gradUp = at::empty(gate.sizes(), gate.options());
  const simd::SiluMulGradArguments a{grad.const_data_ptr(), gate.const_data_ptr(), up.const_data_ptr(),
                                     gradGate.mutable_data_ptr(), gradUp.mutable_data_ptr()};
  overElements(gate.numel(),
               [&](std::int64_t begin, std::int64_t end) { simd::siluMulBackward(element, a, begin, end); });
  return {gradGate, gradUp};
}

using Forward = at::Tensor(const at::Tensor&, const at::Tensor&);
using Backward = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const at::Tensor&);

at::Tensor callForward(const at::Tensor& gate, const at::Tensor& up) {
  static const auto op = findOperator<Forward>("redraft::silu_mul");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(gate, up);
}

struct SiluMulFunction : torch::autograd::Function<SiluMulFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    ctx->save_for_backward({gate, up});
    return callForward(gate, up);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    static const auto op = findOperator<Backward>("redraft::silu_mul_backward");
    at::AutoDispatchBelowADInplaceOrView guard;
    const auto saved = ctx->get_saved_variables();
    auto [gradGate, gradUp] = op.call(grads[0], saved[0], saved[1]);
    return {gradGate, gradUp};
  }
};

}  // namespace
}  // namespace activation_op

void registerActivation(torch::Library& library) {
  library.def("silu_mul(Tensor gate, Tensor up) -> Tensor");
  library.def("silu_mul_backward(Tensor grad, Tensor gate, Tensor up) -> (Tensor, Tensor)");
  library.impl("silu_mul", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(activation_op::forward)));
  library.impl("silu_mul_backward", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(activation_op::backward)));
}

at::Tensor siluMul(const at::Tensor& gate, const at::Tensor& up) {
  const bool differentiate = at::GradMode::is_enabled() && (gate.requires_grad() || up.requires_grad());
  return differentiate ? activation_op::SiluMulFunction::apply(gate, up) : activation_op::callForward(gate, up);
}

}  // namespace redraft::model
