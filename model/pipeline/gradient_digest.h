#pragma once
// A few numbers that stand for a gradient: enough to say whether two are equal, and about how far apart they are.
// docs/formats.md, "Digests".

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace redraft::model {

constexpr int kSketchSize = 16;

struct GradientDigest {
  double l2 = 0;
  double max = 0;                       // largest magnitude
  std::array<std::uint8_t, 16> hash{};  // of the float32 bytes
  std::array<float, kSketchSize> sketch{};
};

/// Of a float32 gradient on any device; `parameter` is its number, which keys the sketch's signs.
GradientDigest digestGradient(const at::Tensor& gradient, std::uint64_t parameter);

/// One hash over the bytes of several tensors, in order.
std::string hashTensors(const std::vector<at::Tensor>& tensors);

}  // namespace redraft::model
