// Compiled with -mavx512f: everything here is local or an intrinsic, so that no function of another file is
// instantiated with instructions that this processor may lack.
#include <immintrin.h>

#include <cstdint>

#include "model/kernels/simd/register_tile.h"

namespace redraft::model::simd {
namespace {

/// `adjacent`: rows of A lie side by side, and one pointer reaches them all.
template <int R, bool adjacent>
void tile(std::int64_t depth, Strided a, const float* panel, float* c, std::int64_t cStride, bool fresh) {
  const std::int64_t rowStride = adjacent ? 1 : a.rowStride;
  __m512 sum[R][2];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) sum[r][v] = fresh ? _mm512_setzero_ps() : _mm512_loadu_ps(c + r * cStride + 16 * v);
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* left = a.data + k * a.depthStride;
    const __m512 right[2] = {_mm512_loadu_ps(panel + k * 32), _mm512_loadu_ps(panel + k * 32 + 16)};
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const __m512 factor = _mm512_set1_ps(left[r * rowStride]);
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) sum[r][v] = _mm512_fmadd_ps(factor, right[v], sum[r][v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) _mm512_storeu_ps(c + r * cStride + 16 * v, sum[r][v]);
}

using Tile = void (*)(std::int64_t, Strided, const float*, float*, std::int64_t, bool);
template <bool adjacent>
constexpr Tile kTiles[] = {tile<1, adjacent>, tile<2, adjacent>,  tile<3, adjacent>,  tile<4, adjacent>,
                           tile<5, adjacent>, tile<6, adjacent>,  tile<7, adjacent>,  tile<8, adjacent>,
                           tile<9, adjacent>, tile<10, adjacent>, tile<11, adjacent>, tile<12, adjacent>};

}  // namespace

void wideTile(int rows, std::int64_t depth, Strided a, const float* panel, float* c, std::int64_t cStride, bool fresh) {
  (a.rowStride == 1 ? kTiles<true> : kTiles<false>)[rows - 1](depth, a, panel, c, cStride, fresh);
}

}  // namespace redraft::model::simd
