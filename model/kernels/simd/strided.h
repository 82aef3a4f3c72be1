#pragma once
#include <cstdint>

namespace redraft::model::simd {

/// A operand of a product: element (row, k) at data[row · rowStride + k · depthStride].
struct Strided {
  const float* data;
  std::int64_t rowStride;
  std::int64_t depthStride;
};

}  // namespace redraft::model::simd
