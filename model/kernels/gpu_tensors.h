#pragma once
// What the operations on GPU tensors ask of their arguments.

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "model/kernels/cuda/elements.cuh"

namespace redraft::model::gpu {

/// Kernels take addresses of one device; as LibTorch's own operators say it.
inline void requireSameDevice(const char* operation, const at::Tensor& first, const at::Tensor& other) {
  TORCH_CHECK(other.device() == first.device(), "Expected all tensors to be on the same device, but found ",
              first.device(), " and ", other.device(), " (", operation, ")");
}

/// Whether the kernels' packs may begin at the tensor's first element.
inline bool startsPack(const at::Tensor& x) { return packsAt(x.const_data_ptr(), static_cast<int>(x.element_size())); }

}  // namespace redraft::model::gpu
