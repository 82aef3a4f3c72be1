#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "model/kernels/ops.h"
#include "model/kernels/parallel.h"
#include "model/kernels/registry.h"
#include "model/kernels/simd/rows.h"

namespace redraft::model {
namespace cross_entropy_op {
namespace {

constexpr const char* kName = "crossEntropy";
using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Four forward(const at::Tensor& logitsIn, const at::Tensor& labelsIn) {
  const simd::Element element = elementOf(logitsIn, kName, "logits");
  require(
      logitsIn.dim() == 2 && labelsIn.dim() == 1 && labelsIn.scalar_type() == at::kLong &&
          labelsIn.size(0) == logitsIn.size(0),
      kName,
      "logits are " + describe(logitsIn) + " and labels " + describe(labelsIn) + "; they must be [R, V] and int64 [R]");
  const std::int64_t rows = logitsIn.size(0), width = logitsIn.size(1);
  require(rows == 0 || width > 0, kName, "logits are " + describe(logitsIn) + ", which leaves nothing to choose from");
  const at::Tensor logits = logitsIn.contiguous(), labels = labelsIn.contiguous();
  const std::int64_t* label = labels.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < rows; ++i) {
    require(label[i] < width, kName,
            "label " + std::to_string(label[i]) + " of row " + std::to_string(i) + " is outside the vocabulary of " +
                std::to_string(width));
  }
  const auto floats = logits.options().dtype(at::kFloat);
  at::Tensor loss = at::empty({rows}, floats), probability = at::empty({rows}, floats), lse = at::empty({rows}, floats);
  at::Tensor argmax = at::empty({rows}, floats.dtype(at::kLong));
  const simd::CrossEntropyArguments a{logits.const_data_ptr(),
                                      label,
                                      width,
                                      loss.mutable_data_ptr<float>(),
                                      argmax.mutable_data_ptr<std::int64_t>(),
                                      probability.mutable_data_ptr<float>(),
                                      lse.mutable_data_ptr<float>()};
  parallelFor(rows, rowGrain(width),
              [&](std::int64_t begin, std::int64_t end) { simd::crossEntropyForward(element, a, begin, end); });
  return {loss, argmax, probability, lse};
}

at::Tensor backward(const at::Tensor& gradIn, const at::Tensor& logitsIn, const at::Tensor& labelsIn,
                    const at::Tensor& lse) {
  const simd::Element element = elementOf(logitsIn, kName, "logits");
  const at::Tensor grad = gradIn.contiguous(), logits = logitsIn.contiguous(), labels = labelsIn.contiguous();
  at::Tensor out = at::empty(logits.sizes(), logits.options());
  const simd::CrossEntropyGradArguments a{logits.const_data_ptr(),     labels.const_data_ptr<std::int64_t>(),
                                          lse.const_data_ptr<float>(), grad.const_data_ptr<float>(),
                                          out.mutable_data_ptr(),      logits.size(1)};
  parallelFor(logits.size(0), rowGrain(a.width),
              [&](std::int64_t begin, std::int64_t end) { simd::crossEntropyBackward(element, a, begin, end); });
  return out;
}

Four callForward(const at::Tensor& logits, const at::Tensor& labels) {
  static const auto op = findOperator<Four(const at::Tensor&, const at::Tensor&)>("redraft::cross_entropy");
  at::AutoDispatchBelowADInplaceOrView guard;
  return op.call(logits, labels);
}

struct CrossEntropyFunction : torch::autograd::Function<CrossEntropyFunction> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx, const at::Tensor& logits,
                                                const at::Tensor& labels) {
    auto [loss, argmax, probability, lse] = callForward(logits, labels);
    ctx->save_for_backward({logits, labels, lse});
    ctx->mark_non_differentiable({argmax, probability});
    return {loss, argmax, probability};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    using Backward = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&);
    static const auto op = findOperator<Backward>("redraft::cross_entropy_backward");
    at::AutoDispatchBelowADInplaceOrView guard;
    const auto saved = ctx->get_saved_variables();
    return {op.call(grads[0], saved[0], saved[1], saved[2]), at::Tensor()};
  }
};

}  // namespace
}  // namespace cross_entropy_op

void registerCrossEntropy(torch::Library& library) {
  library.def("cross_entropy(Tensor logits, Tensor labels) -> (Tensor, Tensor, Tensor, Tensor)");
  library.def("cross_entropy_backward(Tensor grad, Tensor logits, Tensor labels, Tensor lse) -> Tensor");
  library.impl("cross_entropy", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(cross_entropy_op::forward)));
  library.impl("cross_entropy_backward", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(cross_entropy_op::backward)));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> crossEntropy(const at::Tensor& logits, const at::Tensor& labels) {
  if (at::GradMode::is_enabled() && logits.requires_grad()) {
    const auto out = cross_entropy_op::CrossEntropyFunction::apply(logits, labels);
    return {out[0], out[1], out[2]};
  }
  auto [loss, argmax, probability, lse] = cross_entropy_op::callForward(logits, labels);
  return {loss, argmax, probability};
}

}  // namespace redraft::model
