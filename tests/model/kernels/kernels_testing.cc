#include "tests/model/kernels/kernels_testing.h"

#include <torch/csrc/autograd/autograd.h>

#include <cstring>

#include "base/hash.h"
#include "base/philox.h"

namespace redraft::model::testing {

double gamma(double roundings) { return roundings * kFloatUnit / (1.0 - roundings * kFloatUnit); }

double storeUnit(at::ScalarType type) { return type == at::kBFloat16 ? kBFloatUnit : 0.0; }

at::Tensor normal(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType type) {
  CounterRng rng(seed, "kernels test");
  at::Tensor x = at::empty(sizes, at::kFloat);
  float* data = x.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) data[i] = rng.normal();
  return x.to(type);
}

at::Tensor integers(at::IntArrayRef sizes, std::int64_t below, std::uint64_t seed) {
  CounterRng rng(seed, "kernels test");
  at::Tensor x = at::empty(sizes, at::kLong);
  auto* data = x.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    data[i] = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(below)));
  }
  return x;
}

at::Tensor f64(const at::Tensor& x) { return x.detach().to(at::kDouble); }

std::vector<at::Tensor> gradients(const at::Tensor& output, const at::Tensor& grad,
                                  const std::vector<at::Tensor>& inputs) {
  const std::vector<at::Tensor> outputs{output}, grads{grad};
  return torch::autograd::grad(outputs, inputs, grads);
}

::testing::AssertionResult within(const at::Tensor& got, const at::Tensor& want, const at::Tensor& bound) {
  if (got.sizes() != want.sizes()) {
    return ::testing::AssertionFailure() << "shape " << got.sizes() << " instead of " << want.sizes();
  }
  const at::Tensor error = (f64(got) - want).abs();
  const at::Tensor bad = error.le(bound).logical_not();  // NaN is bad too
  const auto count = bad.sum().item().toLong();
  if (count == 0) return ::testing::AssertionSuccess();
  const at::Tensor limit = bound.expand_as(error);
  const auto worst = at::where(bad, (error / limit).nan_to_num(1e300), at::zeros_like(error)).argmax().item().toLong();
  const auto at = [&](const at::Tensor& t) { return f64(t).expand_as(error).reshape(-1)[worst].item().toDouble(); };
  return ::testing::AssertionFailure() << count << " of " << error.numel() << " elements are out of bounds; element "
                                       << worst << " is " << at(got) << " instead of " << at(want) << ", error "
                                       << at(error) << ", bound " << at(limit);
}

::testing::AssertionResult sameBits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) {
    return ::testing::AssertionFailure() << a.scalar_type() << a.sizes() << " against " << b.scalar_type() << b.sizes();
  }
  const at::Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  if (x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) {
    return ::testing::AssertionSuccess();
  }
  const at::Tensor differs = f64(x).ne(f64(y));
  return ::testing::AssertionFailure() << differs.sum().item().toLong() << " of " << x.numel()
                                       << " elements differ, by up to "
                                       << (f64(x) - f64(y)).abs().max().item().toDouble();
}

std::string bitsOf(const std::vector<at::Tensor>& tensors) {
  Hasher hasher;
  for (const at::Tensor& t : tensors) {
    const at::Tensor dense = t.detach().contiguous();
    hasher.update(dense.const_data_ptr(), dense.nbytes());
  }
  return hasher.digest();
}

}  // namespace redraft::model::testing
