#pragma once
// Matrix products with one order of summation: C[m, n] = Σ_k A[m, k] B[k, n], k ascending, one fused multiply-add a
// term in float32, whatever the blocking, the thread count and the processor. bfloat16 operands are widened exactly,
// and the sum is rounded once, to nearest even.

#include <cstdint>

namespace redraft::model::simd {

enum class Element : std::uint8_t { kFloat, kBFloat };

/// A matrix in memory; `transposed`: element (i, j) at data[j · stride + i], otherwise at data[i · stride + j].
struct MatrixView {
  const void* data;
  std::int64_t stride;
  bool transposed;
};

struct Product {
  std::int64_t rows, cols, depth;
  MatrixView a;                       // rows × depth
  MatrixView b;                       // depth × cols
  void* c;                            // rows × cols, row-major, contiguous; overwritten
  Element element = Element::kFloat;  // of a, b and c
};

void multiply(const Product& product);

}  // namespace redraft::model::simd
