#pragma once
// What the forward and the backward kernel share: operands as float32, key tiles transposed, masks of partial tiles.

#include <cmath>
#include <limits>

#include "model/kernels/mask_geometry.h"
#include "model/kernels/parallel.h"
#include "model/kernels/simd/attention_kernel.h"
#include "model/kernels/simd/lanes.h"
#include "model/kernels/simd/micro.h"
#include "model/kernels/simd/scratch.h"
#include "model/kernels/simd/transpose.h"

namespace redraft::model::simd {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

template <class P>
P* param(void** params, int index) {
  return *static_cast<P**>(params[index]);
}

/// dst[i] = src[i] · scale.
template <class T>
void scaledCopy(const T* src, std::int64_t count, float scale, float* dst) {
  const __m256 factor = _mm256_set1_ps(scale);
  forEights(count, [&](std::int64_t i, std::int64_t n, int) {
    storeUpTo(dst + i, n, _mm256_mul_ps(loadUpTo(src + i, n), factor));
  });
}

/// dst[i] = src[i] · scale, rounded to T; in place when both are the same floats.
template <class T>
void scaledCopyOut(const float* src, std::int64_t count, float scale, T* dst) {
  const __m256 factor = _mm256_set1_ps(scale);
  forEights(count, [&](std::int64_t i, std::int64_t n, int) {
    storeUpTo(dst + i, n, _mm256_mul_ps(loadUpTo(src + i, n), factor));
  });
}

inline float* floatsOr(float* own, float*) { return own; }
inline float* floatsOr(BFloat*, float* room) { return room; }

/// src as float32: itself, or `count` elements widened into `room`.
inline const float* asFloats(const float* src, std::int64_t, float*) { return src; }
inline const float* asFloats(const BFloat* src, std::int64_t count, float* room) {
  parallelFor(tileCount(count, 4096), 8, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * 4096;
    scaledCopy(src + first, std::min(count, end * 4096) - first, 1.0f, room + first);
  });
  return room;
}
template <class T>
constexpr std::int64_t widenedCount(std::int64_t count) {
  return std::is_same_v<T, float> ? 0 : count;
}

/// Keys [first, first + kKeyTile) of x [keys, headDim] as [headDim][kKeyTile]; keys past the end are 0.
template <class T>
void transposeTile(const T* x, std::int64_t keys, std::int64_t headDim, std::int64_t first, float* dst) {
  for (std::int64_t j = 0; j < kKeyTile; j += 8) {
    for (std::int64_t c = 0; c < headDim; c += 8) {
      __m256 r[8];
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t key = first + j + i;
        r[i] = key < keys ? load8(x + key * headDim + c) : _mm256_setzero_ps();
      }
      transpose8(r);
      for (std::int64_t i = 0; i < 8; ++i) store8(dst + (c + i) * kKeyTile + j, r[i]);
    }
  }
}

/// All tiles of x [batch · keyHeads, keys, headDim], in order.
template <class T>
void transposeTiles(const T* x, const AttentionShape& s, float* dst) {
  const std::int64_t tiles = tileCount(s.keys, kKeyTile);
  parallelFor(s.batch * s.keyHeads * tiles, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      transposeTile(x + t / tiles * s.keys * s.headDim, s.keys, s.headDim, t % tiles * kKeyTile,
                    dst + t * kKeyTile * s.headDim);
    }
  });
}

/// The visible keys of the queries of one tile.
struct TileRows {
  VisibleKeys row[kQueryTile];
};

inline void fillTileRows(MaskRule rule, const AttentionShape& s, const std::int32_t* anchors, const std::uint8_t* keep,
                         std::int64_t firstQuery, std::int64_t count, TileRows* rows) {
  for (std::int64_t i = 0; i < count; ++i) rows->row[i] = visibleKeys(rule, s, anchors, keep, firstQuery + i);
}

/// Lanes of keys key … key + 7 that lie in the ranges, as all-ones.
inline __m256 visibleLanes(const VisibleKeys& seen, std::int64_t key) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const auto inside = [&](const KeyRange& range) {
    const auto below = [&](std::int64_t bound) {
      return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(bound - key)), lane);
    };
    return _mm256_andnot_si256(below(range.begin), below(range.end));
  };
  return _mm256_castsi256_ps(_mm256_or_si256(inside(seen.context), inside(seen.own)));
}

}  // namespace redraft::model::simd
