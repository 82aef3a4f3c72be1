#include <algorithm>
#include <limits>

#include "base/exact_math.h"
#include "model/kernels/simd/lanes.h"
#include "model/kernels/simd/rows.h"

namespace redraft::model::simd {
namespace {

template <class T>
float rowMaximum(const T* x, std::int64_t width) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  __m256 lane[4] = {_mm256_set1_ps(kLowest), _mm256_set1_ps(kLowest), _mm256_set1_ps(kLowest), _mm256_set1_ps(kLowest)};
  __m256 nan = _mm256_setzero_ps();
  forEights(width, [&](std::int64_t i, std::int64_t count, int k) {
    const __m256 v = loadUpTo(x + i, count, kLowest);
    lane[k] = _mm256_max_ps(lane[k], v);
    nan = _mm256_or_ps(nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  });
  if (_mm256_movemask_ps(nan) != 0) return std::numeric_limits<float>::quiet_NaN();
  return max8(_mm256_max_ps(_mm256_max_ps(lane[0], lane[2]), _mm256_max_ps(lane[1], lane[3])));
}

/// The first column that equals `value`; a NaN equals a NaN.
template <class T>
std::int64_t firstEqual(const T* x, std::int64_t width, float value) {
  const __m256 wanted = _mm256_set1_ps(value);
  const bool wantsNan = value != value;
  for (std::int64_t i = 0; i < width; i += 8) {
    const std::int64_t count = std::min<std::int64_t>(8, width - i);
    const __m256 v = loadUpTo(x + i, count);
    const __m256 same = wantsNan ? _mm256_cmp_ps(v, v, _CMP_UNORD_Q) : _mm256_cmp_ps(v, wanted, _CMP_EQ_OQ);
    const int bits = _mm256_movemask_ps(same) & ((1 << count) - 1);
    if (bits != 0) return i + __builtin_ctz(static_cast<unsigned>(bits));
  }
  return 0;
}

template <class T>
void forward(const CrossEntropyArguments& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(a.logits) + row * a.width;
    const float maximum = rowMaximum(x, a.width);
    const __m256 shift = _mm256_set1_ps(maximum);
    LaneSum sum;
    forEights(a.width, [&](std::int64_t i, std::int64_t count, int lane) {
      const __m256 v = loadUpTo(x + i, count, -std::numeric_limits<float>::infinity());
      sum.lane[lane] = _mm256_add_ps(sum.lane[lane], exp8(_mm256_sub_ps(v, shift)));
    });
    const float lse = maximum + static_cast<float>(exactLog(sum.total()));
    a.logSumExp[row] = lse;
    a.argmax[row] = firstEqual(x, a.width, maximum);
    const std::int64_t label = a.labels[row];
    const float picked = label < 0 ? 0.0f : toFloat(x[label]);
    a.loss[row] = label < 0 ? 0.0f : lse - picked;
    a.probability[row] = label < 0 ? 0.0f : _mm256_cvtss_f32(exp8(_mm256_set1_ps(picked - lse)));
  }
}

template <class T>
void backward(const CrossEntropyGradArguments& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(a.logits) + row * a.width;
    T* out = static_cast<T*>(a.gradLogits) + row * a.width;
    const std::int64_t label = a.labels[row];
    if (label < 0) {
      std::fill_n(out, a.width, T{});
      continue;
    }
    const __m256 lse = _mm256_set1_ps(a.logSumExp[row]);
    const __m256 g = _mm256_set1_ps(a.grad[row]);
    const __m256i first = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 one = _mm256_set1_ps(1.0f);
    forEights(a.width, [&](std::int64_t i, std::int64_t count, int) {
      const __m256 p = exp8(_mm256_sub_ps(loadUpTo(x + i, count), lse));
      const __m256i at = _mm256_set1_epi32(static_cast<int>(label - i < 8 && label >= i ? label - i : -1));
      const __m256 hot = _mm256_and_ps(one, _mm256_castsi256_ps(_mm256_cmpeq_epi32(first, at)));
      storeUpTo(out + i, count, _mm256_mul_ps(g, _mm256_sub_ps(p, hot)));
    });
  }
}

}  // namespace

void crossEntropyForward(Element element, const CrossEntropyArguments& a, std::int64_t begin, std::int64_t end) {
  element == Element::kFloat ? forward<float>(a, begin, end) : forward<BFloat>(a, begin, end);
}

void crossEntropyBackward(Element element, const CrossEntropyGradArguments& a, std::int64_t begin, std::int64_t end) {
  element == Element::kFloat ? backward<float>(a, begin, end) : backward<BFloat>(a, begin, end);
}

}  // namespace redraft::model::simd
