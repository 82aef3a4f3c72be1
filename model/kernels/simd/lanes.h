#pragma once
// Loops over a row in steps of 32 columns with one accumulator for each; what lies past the end takes no part.

#include <cstdint>

#include "model/kernels/simd/vec.h"

namespace redraft::model::simd {

/// Calls step(offset, count, lane) for every eight columns: count 8, or less at the end; lane = (offset / 8) mod 4.
template <class Step>
inline void forEights(std::int64_t width, Step step) {
  std::int64_t i = 0;
  for (; i + 32 <= width; i += 32) {
    step(i, std::int64_t{8}, 0);
    step(i + 8, std::int64_t{8}, 1);
    step(i + 16, std::int64_t{8}, 2);
    step(i + 24, std::int64_t{8}, 3);
  }
  for (int lane = 0; i < width; i += 8, ++lane) step(i, width - i < 8 ? width - i : 8, lane);
}

template <class T>
inline __m256 loadUpTo(const T* p, std::int64_t count, float fill = 0.0f) {
  return count == 8 ? load8(p) : loadPart(p, count, fill);
}
template <class T>
inline void storeUpTo(T* p, std::int64_t count, __m256 x) {
  if (count == 8) {
    store8(p, x);
  } else {
    storePart(p, count, x);
  }
}

/// Four accumulators of eight lanes and their fixed tree.
struct LaneSum {
  __m256 lane[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  float total() const { return sum8(_mm256_add_ps(_mm256_add_ps(lane[0], lane[2]), _mm256_add_ps(lane[1], lane[3]))); }
};

}  // namespace redraft::model::simd
