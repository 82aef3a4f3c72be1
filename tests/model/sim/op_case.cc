#include "tests/model/sim/op_case.h"

#include <ATen/CPUGeneratorImpl.h>

namespace redraft::model::simtest {

Inputs::Inputs(at::Device device, bool leavesRequireGrad)
    : device_(device), grad_(leavesRequireGrad), numbers_(at::detail::createCPUGenerator(20)) {}

at::TensorOptions Inputs::options(at::ScalarType dtype) const {
  return at::TensorOptions().device(device_).dtype(dtype);
}

at::Tensor Inputs::leaf(const at::Tensor& host) {
  leaves_.push_back(host.to(device_).requires_grad_(grad_));
  return leaves_.back();
}

at::Tensor Inputs::real(at::IntArrayRef sizes) { return leaf(at::randn(sizes, numbers_)); }
at::Tensor Inputs::positive(at::IntArrayRef sizes) { return leaf(at::rand(sizes, numbers_) * 1.9 + 0.1); }
at::Tensor Inputs::unit(at::IntArrayRef sizes) { return leaf(at::rand(sizes, numbers_) * 1.8 - 0.9); }

at::Tensor Inputs::spd(std::int64_t n) {
  const at::Tensor root = at::randn({n, n}, numbers_);
  return leaf(root.mm(root.t()) + n * at::eye(n));
}

at::Tensor Inputs::plain(at::IntArrayRef sizes) { return at::randn(sizes, numbers_).to(device_); }

at::Tensor Inputs::bf16(at::IntArrayRef sizes) { return leaf(at::randn(sizes, numbers_).to(at::kBFloat16)); }

at::Tensor Inputs::ints(at::IntArrayRef sizes, std::int64_t below) {
  return at::randint(below, sizes, numbers_, at::TensorOptions(at::kLong)).to(device_);
}

at::Tensor Inputs::mask(at::IntArrayRef sizes) { return (at::rand(sizes, numbers_) < 0.5).to(device_); }

at::Tensor Inputs::permutation(std::int64_t n) {
  return at::randperm(n, numbers_, at::TensorOptions(at::kLong)).to(device_);
}

std::vector<OpCase> allOpCases() {
  std::vector<OpCase> cases;
  for (const auto& family : {elementwiseCases(), reductionCases(), shapeCases(), indexCases(), linearCases(), nnCases(),
                             inPlaceCases(), randomCases()})
    cases.insert(cases.end(), family.begin(), family.end());
  return cases;
}

}  // namespace redraft::model::simtest
