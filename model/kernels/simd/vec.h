#pragma once
// Eight floats at a time (AVX2 and FMA). Included by files compiled with -mavx2 -mfma only. No approximate reciprocals:
// their bits differ between makes of processor.

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace redraft::model::simd {

/// bfloat16 as its bits.
struct BFloat {
  std::uint16_t bits;
};

/// Lanes 0 … count - 1 set; count may be below 0 or above 8.
inline __m256i laneMask(std::int64_t count) {
  const int n = count < 0 ? 0 : count > 8 ? 8 : static_cast<int>(count);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline __m256 load8(const float* p) { return _mm256_loadu_ps(p); }
inline __m256 load8(const BFloat* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline void store8(float* p, __m256 x) { _mm256_storeu_ps(p, x); }

/// Round to nearest, ties to even; NaN stays (quiet) NaN.
inline __m128i roundToBFloat(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i isNan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i picked = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7fc0), isNan);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(picked, picked), 0x08);
  return _mm256_castsi256_si128(packed);
}
inline void store8(BFloat* p, __m256 x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), roundToBFloat(x)); }

/// The first `count` (1 … 8) of eight; the lanes beyond read as `fill`.
inline __m256 loadPart(const float* p, std::int64_t count, float fill = 0.0f) {
  const __m256i mask = laneMask(count);
  return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
}
inline __m256 loadPart(const BFloat* p, std::int64_t count, float fill = 0.0f) {
  BFloat whole[8] = {};
  std::memcpy(whole, p, static_cast<std::size_t>(count) * sizeof(BFloat));
  return _mm256_blendv_ps(_mm256_set1_ps(fill), load8(whole), _mm256_castsi256_ps(laneMask(count)));
}
inline void storePart(float* p, std::int64_t count, __m256 x) { _mm256_maskstore_ps(p, laneMask(count), x); }
inline void storePart(BFloat* p, std::int64_t count, __m256 x) {
  BFloat whole[8];
  store8(whole, x);
  std::memcpy(p, whole, static_cast<std::size_t>(count) * sizeof(BFloat));
}

inline float toFloat(float x) { return x; }
inline float toFloat(BFloat x) {
  const std::uint32_t bits = std::uint32_t{x.bits} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// ((0+4)+(2+6)) + ((1+5)+(3+7)).
inline float sum8(__m256 x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
inline float max8(__m256 x) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/// e^x for x ≤ 88 with relative error below 2^-22.9; below -87.3 it is 0; NaN stays NaN. x = n ln 2 + r, then
/// 1 + r + r² q(r) with q of degree 4, minimax in relative error on |r| ≤ ln 2 / 2 (3.1e-9 before rounding).
inline __m256 exp8(__m256 x) {
  const __m256 n =
      _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(0x1.715476p+0f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.62p-1f), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.c85fep-10f), r);
  __m256 q = _mm256_set1_ps(0x1.6a23dp-10f);
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.123a2p-7f));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.5558f2p-5f));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.555492p-3f));
  q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(0x1.fffffcp-2f));
  const __m256 p = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(r, r), q, r), _mm256_set1_ps(1.0f));
  const __m256i shift = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  const __m256 scaled = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), shift));
  const __m256 tooSmall = _mm256_cmp_ps(x, _mm256_set1_ps(-87.3f), _CMP_LT_OQ);
  return _mm256_andnot_ps(tooSmall, scaled);
}

}  // namespace redraft::model::simd
