#pragma once
// The register tile under every product here: C[R × 8V] += A[R × depth] · B[depth × 8V], one fused multiply-add per
// term, depth ascending. A chain of them from C's own value gives the same bits however depth is cut into calls.

#include <immintrin.h>

#include <cstdint>

#include "model/kernels/simd/strided.h"

namespace redraft::model::simd {

/// B: row k at b + k · bStride, 8V long. `fresh`: C starts from 0 and is not read.
template <int R, int V>
inline void registerTile(std::int64_t depth, Strided a, const float* b, std::int64_t bStride, float* c,
                         std::int64_t cStride, bool fresh) {
  __m256 sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[r][v] = fresh ? _mm256_setzero_ps() : _mm256_loadu_ps(c + r * cStride + 8 * v);
  const float* aRow[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) aRow[r] = a.data + r * a.rowStride;
  for (std::int64_t k = 0; k < depth; ++k) {
    __m256 right[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) right[v] = _mm256_loadu_ps(b + 8 * v);
    b += bStride;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m256 left = _mm256_broadcast_ss(aRow[r] + k * a.depthStride);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[r][v] = _mm256_fmadd_ps(left, right[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) _mm256_storeu_ps(c + r * cStride + 8 * v, sum[r][v]);
}

/// registerTile for `rows` known at run time only (1 … 6).
template <int V>
inline void registerRows(int rows, std::int64_t depth, Strided a, const float* b, std::int64_t bStride, float* c,
                         std::int64_t cStride, bool fresh) {
  switch (rows) {
    case 1:
      return registerTile<1, V>(depth, a, b, bStride, c, cStride, fresh);
    case 2:
      return registerTile<2, V>(depth, a, b, bStride, c, cStride, fresh);
    case 3:
      return registerTile<3, V>(depth, a, b, bStride, c, cStride, fresh);
    case 4:
      return registerTile<4, V>(depth, a, b, bStride, c, cStride, fresh);
    case 5:
      return registerTile<5, V>(depth, a, b, bStride, c, cStride, fresh);
    default:
      return registerTile<6, V>(depth, a, b, bStride, c, cStride, fresh);
  }
}

/// C[rows × cols] (+)= A · B for operands that lie in the first-level cache; cols a multiple of 8.
inline void smallProduct(std::int64_t rows, std::int64_t cols, std::int64_t depth, Strided a, const float* b,
                         std::int64_t bStride, float* c, std::int64_t cStride, bool fresh) {
  for (std::int64_t j = 0; j < cols; j += 16) {
    for (std::int64_t i = 0; i < rows; i += 6) {
      const int height = static_cast<int>(rows - i < 6 ? rows - i : 6);
      const Strided panel{a.data + i * a.rowStride, a.rowStride, a.depthStride};
      float* tile = c + i * cStride + j;
      if (cols - j >= 16) {
        registerRows<2>(height, depth, panel, b + j, bStride, tile, cStride, fresh);
      } else {
        registerRows<1>(height, depth, panel, b + j, bStride, tile, cStride, fresh);
      }
    }
  }
}

}  // namespace redraft::model::simd
