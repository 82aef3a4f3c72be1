#pragma once
// Parameters moved by one unit in the last place: how a training answers to errors as small as its own rounding is what
// bounds across numerics classes are made of (docs/goldens.md, "Tolerance").

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace redraft::model {

/// Copies of float32 tensors on the host with every element moved by one ULP of `dtype` (float32, or bfloat16: 2¹⁶ of
/// float32's), up or down by a random sign keyed by (seed, stream, tensor's number), never by thread or order. Zeros
/// and what is not finite stay.
std::vector<at::Tensor> movedByOneUlp(const std::vector<at::Tensor>& parameters, std::uint64_t seed,
                                      std::uint64_t stream, at::ScalarType dtype);

}  // namespace redraft::model
