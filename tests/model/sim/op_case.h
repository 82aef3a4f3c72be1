#pragma once
// The table of ops that must give the CPU's bits on `sim`. Adding an op is adding a row to one of the op_cases_*.cc.

#include <ATen/ATen.h>

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

namespace redraft::model::simtest {

using Tensors = std::vector<at::Tensor>;

/// Makes a row's arguments: the same numbers on any device.
class Inputs {
 public:
  Inputs(at::Device device, bool leavesRequireGrad);

  // Leaves: gradients with respect to them are compared.
  at::Tensor real(at::IntArrayRef sizes);      // normal
  at::Tensor positive(at::IntArrayRef sizes);  // in (0.1, 2)
  at::Tensor unit(at::IntArrayRef sizes);      // in (-0.9, 0.9)
  at::Tensor spd(std::int64_t n);              // symmetric, positive definite

  at::Tensor plain(at::IntArrayRef sizes);  // as real(), no leaf
  at::Tensor bf16(at::IntArrayRef sizes);
  at::Tensor ints(at::IntArrayRef sizes, std::int64_t below);
  at::Tensor mask(at::IntArrayRef sizes);  // bool
  at::Tensor permutation(std::int64_t n);

  at::TensorOptions options(at::ScalarType dtype = at::kFloat) const;
  at::Device device() const { return device_; }
  const Tensors& leaves() const { return leaves_; }

 private:
  at::Tensor leaf(const at::Tensor& host);

  at::Device device_;
  bool grad_;
  at::Generator numbers_;
  Tensors leaves_;
};

struct OpCase {
  const char* op;  // its name in the dispatcher, without "aten::"; the row must call it
  Tensors (*call)(Inputs& in);
};

std::vector<OpCase> elementwiseCases();
std::vector<OpCase> reductionCases();
std::vector<OpCase> shapeCases();
std::vector<OpCase> indexCases();
std::vector<OpCase> linearCases();
std::vector<OpCase> nnCases();
std::vector<OpCase> inPlaceCases();
std::vector<OpCase> randomCases();

std::vector<OpCase> allOpCases();

/// A tensor, a list or a tuple of tensors as a list.
template <class Result>
Tensors asTensors(Result&& result) {
  using Plain = std::decay_t<Result>;
  if constexpr (std::is_same_v<Plain, at::Tensor>) {
    return {result};
  } else if constexpr (std::is_same_v<Plain, Tensors>) {
    return result;
  } else {
    return std::apply([](const auto&... each) { return Tensors{each...}; }, result);
  }
}

}  // namespace redraft::model::simtest

/// A row: the op's name, and an expression of `in` that gives a tensor, a tuple or a list of tensors.
#define OP(name, ...)                                                  \
  OpCase {                                                             \
    name, [](Inputs& in) -> Tensors { return asTensors(__VA_ARGS__); } \
  }
