#pragma once
// Fixed inputs, references in float64, and bounds on rounding: an element's error bound is derived from the number of
// roundings on its way and from the sum of the absolute terms (Higham, "Accuracy and Stability", lemma 3.1).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace redraft::model::testing {

/// Unit roundoff of float32 and of bfloat16.
inline constexpr double kFloatUnit = 0x1p-24;
inline constexpr double kBFloatUnit = 0x1p-8;

/// What the norms of these tests add to the mean square.
inline constexpr double kNormEps = 1e-6;

/// γₙ = n u / (1 - n u).
double gamma(double roundings);

/// What storing as `type` adds, relative to the value: 0 for float32, whose roundings are counted by gamma().
double storeUnit(at::ScalarType type);

/// Standard normal values, the same on every machine.
at::Tensor normal(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType type = at::kFloat);
at::Tensor integers(at::IntArrayRef sizes, std::int64_t below, std::uint64_t seed);  // int64

at::Tensor f64(const at::Tensor& x);

/// d(output · grad)/d(input) for every input, by autograd.
std::vector<at::Tensor> gradients(const at::Tensor& output, const at::Tensor& grad,
                                  const std::vector<at::Tensor>& inputs);

/// Every |got - want| ≤ bound, and nothing NaN; says the worst element otherwise.
::testing::AssertionResult within(const at::Tensor& got, const at::Tensor& want, const at::Tensor& bound);
/// Same shape, dtype and bytes.
::testing::AssertionResult sameBits(const at::Tensor& a, const at::Tensor& b);

/// Hash of the bytes of the tensors, in order.
std::string bitsOf(const std::vector<at::Tensor>& tensors);

}  // namespace redraft::model::testing
