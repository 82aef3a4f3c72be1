#include "model/kernels/simd/optimizer.h"

#include <algorithm>

#include "model/kernels/simd/lanes.h"

namespace redraft::model::simd {
namespace {

template <class T>
double squares(const T* x, std::int64_t count) {
  __m256d lane[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
  for (std::int64_t i = 0; i < count; i += 16) {
    for (int half = 0; half < 2; ++half) {
      const std::int64_t left = count - i - 8 * half;
      if (left <= 0) break;
      const __m256 v = loadUpTo(x + i + 8 * half, std::min<std::int64_t>(8, left));
      const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
      const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
      lane[2 * half] = _mm256_fmadd_pd(low, low, lane[2 * half]);
      lane[2 * half + 1] = _mm256_fmadd_pd(high, high, lane[2 * half + 1]);
    }
  }
  double s[4];
  _mm256_storeu_pd(s, _mm256_add_pd(_mm256_add_pd(lane[0], lane[2]), _mm256_add_pd(lane[1], lane[3])));
  return (s[0] + s[2]) + (s[1] + s[3]);
}

}  // namespace

void adamw(const AdamwScalars& s, float* p, float* m, float* v, const float* g, std::int64_t begin, std::int64_t end) {
  const __m256 decay = _mm256_set1_ps(s.decay), first = _mm256_set1_ps(s.oneMinusBeta1);
  const __m256 beta2 = _mm256_set1_ps(s.beta2), second = _mm256_set1_ps(s.oneMinusBeta2);
  const __m256 stepSize = _mm256_set1_ps(s.stepSize), rootBias2 = _mm256_set1_ps(s.rootBias2);
  const __m256 eps = _mm256_set1_ps(s.eps);
  for (std::int64_t i = begin; i < end; i += 8) {
    const std::int64_t n = std::min<std::int64_t>(8, end - i);
    const __m256 grad = loadUpTo(g + i, n);
    __m256 mean = loadUpTo(m + i, n);
    mean = _mm256_fmadd_ps(first, _mm256_sub_ps(grad, mean), mean);
    const __m256 spread = _mm256_fmadd_ps(_mm256_mul_ps(second, grad), grad, _mm256_mul_ps(beta2, loadUpTo(v + i, n)));
    const __m256 root = _mm256_add_ps(_mm256_div_ps(_mm256_sqrt_ps(spread), rootBias2), eps);
    const __m256 decayed = _mm256_mul_ps(decay, loadUpTo(p + i, n));
    storeUpTo(m + i, n, mean);
    storeUpTo(v + i, n, spread);
    storeUpTo(p + i, n, _mm256_fnmadd_ps(stepSize, _mm256_div_ps(mean, root), decayed));
  }
}

double blockSumOfSquares(Element element, const void* x, std::int64_t count, std::int64_t block) {
  const std::int64_t first = block * kSumBlock;
  const std::int64_t length = std::min(kSumBlock, count - first);
  return element == Element::kFloat ? squares(static_cast<const float*>(x) + first, length)
                                    : squares(static_cast<const BFloat*>(x) + first, length);
}

void addExact(const float* a, const float* b, float* out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 8) {
    const std::int64_t n = std::min<std::int64_t>(8, end - i);
    storeUpTo(out + i, n, _mm256_add_ps(loadUpTo(a + i, n), loadUpTo(b + i, n)));
  }
}

}  // namespace redraft::model::simd
