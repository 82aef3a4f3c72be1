#include "tests/model/sim/op_case.h"

namespace redraft::model::simtest {
namespace {

at::Tensor fresh(Inputs& in, at::IntArrayRef sizes) { return in.real(sizes).clone(); }

at::Tensor emptyOut(Inputs& in) { return at::empty({0}, in.options()); }

/// An lvalue for the length of the full expression.
at::Tensor& hold(at::Tensor&& tensor) { return tensor; }

Tensors eachClone(const Tensors& tensors) {
  Tensors clones;
  for (const auto& tensor : tensors) clones.push_back(tensor.detach().clone());
  return clones;
}

Tensors foreachInPlace(Inputs& in, void (*op)(at::TensorList)) {
  Tensors tensors = eachClone({in.plain({4, 5}), in.plain({3})});
  op(tensors);
  return tensors;
}

Tensors fusedAdamW(Inputs& in) {
  Tensors parameters = eachClone({in.plain({4, 5}), in.plain({3})});
  Tensors gradients = {in.plain({4, 5}), in.plain({3})};
  Tensors first = eachClone({in.plain({4, 5}), in.plain({3})});
  Tensors second = {in.plain({4, 5}).square(), in.plain({3}).square()};
  Tensors steps = {at::ones({}, in.options()), at::ones({}, in.options())};
  at::_fused_adamw_(parameters, gradients, first, second, {}, steps, 1e-3, 0.9, 0.95, 0.1, 1e-8, false, false);
  parameters.insert(parameters.end(), first.begin(), first.end());
  parameters.insert(parameters.end(), second.begin(), second.end());
  return parameters;
}

}  // namespace

std::vector<OpCase> inPlaceCases() {
  return {
      OP("add_.Tensor", fresh(in, {4, 5}).add_(in.real({5}), 2)),
      OP("sub_.Tensor", fresh(in, {4, 5}).sub_(in.real({5}))),
      OP("mul_.Tensor", fresh(in, {4, 5}).mul_(in.real({5}))),
      OP("mul_.Scalar", fresh(in, {4, 5}).mul_(2.5)),
      OP("div_.Tensor", fresh(in, {4, 5}).div_(in.positive({5}))),
      OP("addcmul_", fresh(in, {4, 5}).addcmul_(in.real({4, 5}), in.real({4, 5}), 0.1)),
      OP("addcdiv_", fresh(in, {4, 5}).addcdiv_(in.real({4, 5}), in.positive({4, 5}), 0.1)),
      OP("lerp_.Scalar", fresh(in, {4, 5}).lerp_(in.real({4, 5}), 0.1)),
      OP("addmm_", fresh(in, {4, 3}).addmm_(in.real({4, 5}), in.real({5, 3}))),
      OP("copy_", fresh(in, {4, 5}).copy_(in.real({5}))),
      OP("copy_", at::zeros({4, 5}, in.options(at::kBFloat16)).t().copy_(in.real({5, 4}))),
      OP("fill_.Scalar", fresh(in, {4, 5}).fill_(3)),
      OP("fill_.Tensor", fresh(in, {4, 5}).fill_(in.real({}))),
      OP("zero_", fresh(in, {4, 5}).zero_()),
      OP("clamp_", fresh(in, {4, 5}).clamp_(-1, 1)),
      OP("relu_", fresh(in, {4, 5}).relu_()),
      OP("exp_", fresh(in, {4, 5}).exp_()),
      OP("sqrt_", in.positive({4, 5}).clone().sqrt_()),
      OP("masked_fill_.Scalar", fresh(in, {4, 5}).masked_fill_(in.mask({4, 5}), 9)),
      OP("index_add_", fresh(in, {6, 4}).index_add_(0, in.ints({5}, 6), in.real({5, 4}))),
      OP("index_copy_", fresh(in, {6, 4}).index_copy_(0, in.permutation(6), in.real({6, 4}))),
      OP("index_put_", fresh(in, {6, 4}).index_put_({in.permutation(6)}, in.real({6, 4}))),
      OP("scatter_.src", fresh(in, {6, 4}).scatter_(0, in.permutation(6).view({6, 1}), in.real({6, 1}))),
      OP("scatter_add_", fresh(in, {6, 4}).scatter_add_(0, in.ints({5, 4}, 6), in.real({5, 4}))),
      OP("tril_", fresh(in, {5, 5}).tril_()),
      OP("transpose_", in.plain({4, 5}).clone().transpose_(0, 1)),
      OP("squeeze_", in.plain({4, 1}).clone().squeeze_()),
      OP("unsqueeze_", in.plain({4}).clone().unsqueeze_(0)),
      OP("t_", in.plain({4, 5}).clone().t_()),
      OP("resize_", in.plain({4, 5}).clone().resize_({2, 3})),
      OP("logical_not_", in.mask({4, 5}).clone().logical_not_()),
      OP("bitwise_and_.Tensor", in.mask({4, 5}).clone().bitwise_and_(in.mask({4, 5}))),
      OP("mm.out", at::mm_out(hold(emptyOut(in)), in.plain({4, 5}), in.plain({5, 3}))),
      OP("add.out", at::add_out(hold(emptyOut(in)), in.plain({4, 5}), in.plain({5}))),
      OP("cat.out", at::cat_out(hold(emptyOut(in)), {in.plain({4, 5}), in.plain({1, 5})})),
      OP("embedding_renorm_", at::embedding_renorm_(hold(in.plain({9, 4}).clone()), in.ints({5}, 9), 0.5, 2)),
      OP("_foreach_add.Scalar", at::_foreach_add(Tensors{in.real({4, 5}), in.real({3})}, 2)),
      OP("_foreach_mul.List",
         at::_foreach_mul(Tensors{in.real({4}), in.real({3})}, Tensors{in.real({4}), in.real({3})})),
      OP("_foreach_norm.Scalar", at::_foreach_norm(Tensors{in.real({4, 5}), in.real({3})}, 2)),
      OP("_foreach_sqrt_", foreachInPlace(in,
                                          [](at::TensorList tensors) {
                                            at::_foreach_abs_(tensors);
                                            at::_foreach_sqrt_(tensors);
                                          })),
      OP("_foreach_mul_.Scalar", foreachInPlace(in, [](at::TensorList tensors) { at::_foreach_mul_(tensors, 0.5); })),
      OP("_foreach_zero_", foreachInPlace(in, [](at::TensorList tensors) { at::_foreach_zero_(tensors); })),
      OP("_fused_adamw_", fusedAdamW(in)),
      OP("_amp_foreach_non_finite_check_and_unscale_",
         [](Inputs& in) {
           Tensors tensors = eachClone({in.plain({4, 5}), in.plain({3})});
           at::Tensor found = at::zeros({}, in.options());
           at::_amp_foreach_non_finite_check_and_unscale_(tensors, found, at::full({}, 0.5, in.options()));
           tensors.push_back(found);
           return tensors;
         }(in)),
  };
}

}  // namespace redraft::model::simtest
