#pragma once
// The innermost loop of a matrix product, for each width of vector that a processor may have. Whatever the width, an
// element of C is one chain of fused multiply-adds over k ascending, so all give the same bits.

#include <cstdint>
#include <vector>

#include "model/kernels/simd/strided.h"

namespace redraft::model::simd {

inline constexpr std::int64_t kMostTileElements = 12 * 32;

struct RegisterTile {
  const char* name;
  int rows;           // at most
  std::int64_t cols;  // always
  /// C[rows × cols] (+)= A[rows × depth] · panel[depth × cols]. `fresh`: C starts from 0 and is not read.
  void (*run)(int rows, std::int64_t depth, Strided a, const float* panel, float* c, std::int64_t cStride, bool fresh);
};

/// What this processor can run, the fastest last.
const std::vector<RegisterTile>& registerTiles();

/// 12 × 32 in AVX-512 registers. Only for processors that have AVX-512F.
void wideTile(int rows, std::int64_t depth, Strided a, const float* panel, float* c, std::int64_t cStride, bool fresh);

}  // namespace redraft::model::simd
