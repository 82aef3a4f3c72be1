#include "model/kernels/simd/rows.h"

#include <algorithm>
#include <cmath>

#include "model/kernels/simd/lanes.h"

namespace redraft::model::simd {
namespace {

template <class T>
void rmsForward(const RmsNormArguments& a, std::int64_t begin, std::int64_t end) {
  const auto* weight = static_cast<const T*>(a.weight);
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(a.x) + row * a.width;
    T* y = static_cast<T*>(a.y) + row * a.width;
    LaneSum squares;
    forEights(a.width, [&](std::int64_t i, std::int64_t count, int lane) {
      const __m256 v = loadUpTo(x + i, count);
      squares.lane[lane] = _mm256_fmadd_ps(v, v, squares.lane[lane]);
    });
    const float r = 1.0f / std::sqrt(squares.total() / static_cast<float>(a.width) + a.eps);
    a.rms[row] = r;
    const __m256 scale = _mm256_set1_ps(r);
    forEights(a.width, [&](std::int64_t i, std::int64_t count, int) {
      const __m256 normed = _mm256_mul_ps(loadUpTo(x + i, count), scale);
      storeUpTo(y + i, count, _mm256_mul_ps(loadUpTo(weight + i, count), normed));
    });
  }
}

template <class T>
void rmsGradInput(const RmsNormGradArguments& a, std::int64_t begin, std::int64_t end) {
  const auto* weight = static_cast<const T*>(a.weight);
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(a.x) + row * a.width;
    const T* g = static_cast<const T*>(a.grad) + row * a.width;
    T* dx = static_cast<T*>(a.gradX) + row * a.width;
    LaneSum dot;
    forEights(a.width, [&](std::int64_t i, std::int64_t count, int lane) {
      const __m256 gw = _mm256_mul_ps(loadUpTo(g + i, count), loadUpTo(weight + i, count));
      dot.lane[lane] = _mm256_fmadd_ps(gw, loadUpTo(x + i, count), dot.lane[lane]);
    });
    const float r = a.rms[row];
    const __m256 scale = _mm256_set1_ps(r);
    const __m256 pull = _mm256_set1_ps(r * r * r * (dot.total() / static_cast<float>(a.width)));
    forEights(a.width, [&](std::int64_t i, std::int64_t count, int) {
      const __m256 gw = _mm256_mul_ps(loadUpTo(g + i, count), loadUpTo(weight + i, count));
      const __m256 pulled = _mm256_mul_ps(pull, loadUpTo(x + i, count));
      storeUpTo(dx + i, count, _mm256_fmsub_ps(scale, gw, pulled));
    });
  }
}

template <class T>
void rmsGradWeight(const RmsNormGradArguments& a, std::int64_t rows, float* partial, std::int64_t begin,
                   std::int64_t end) {
  for (std::int64_t group = begin; group < end; ++group) {
    float* sum = partial + group * a.width;
    std::fill_n(sum, a.width, 0.0f);
    const std::int64_t last = std::min(rows, (group + 1) * kRowGroup);
    for (std::int64_t row = group * kRowGroup; row < last; ++row) {
      const T* x = static_cast<const T*>(a.x) + row * a.width;
      const T* g = static_cast<const T*>(a.grad) + row * a.width;
      const __m256 scale = _mm256_set1_ps(a.rms[row]);
      forEights(a.width, [&](std::int64_t i, std::int64_t count, int) {
        const __m256 normed = _mm256_mul_ps(loadUpTo(x + i, count), scale);
        storeUpTo(sum + i, count, _mm256_fmadd_ps(loadUpTo(g + i, count), normed, loadUpTo(sum + i, count)));
      });
    }
  }
}

/// σ(x) = 1 / (1 + e^-x), by the branch that does not overflow.
__m256 sigmoid8(__m256 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 e = exp8(_mm256_or_ps(x, sign));
  const __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  return _mm256_div_ps(_mm256_blendv_ps(one, e, negative), _mm256_add_ps(one, e));
}

template <class T>
void siluForward(const T* gate, const T* up, T* out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 8) {
    const std::int64_t count = std::min<std::int64_t>(8, end - i);
    const __m256 x = loadUpTo(gate + i, count);
    storeUpTo(out + i, count, _mm256_mul_ps(_mm256_mul_ps(x, sigmoid8(x)), loadUpTo(up + i, count)));
  }
}

template <class T>
void siluBackward(const SiluMulGradArguments& a, std::int64_t begin, std::int64_t end) {
  const __m256 one = _mm256_set1_ps(1.0f);
  for (std::int64_t i = begin; i < end; i += 8) {
    const std::int64_t count = std::min<std::int64_t>(8, end - i);
    const __m256 x = loadUpTo(static_cast<const T*>(a.gate) + i, count);
    const __m256 u = loadUpTo(static_cast<const T*>(a.up) + i, count);
    const __m256 g = loadUpTo(static_cast<const T*>(a.grad) + i, count);
    const __m256 s = sigmoid8(x);
    const __m256 slope = _mm256_mul_ps(s, _mm256_fmadd_ps(x, _mm256_sub_ps(one, s), one));
    storeUpTo(static_cast<T*>(a.gradGate) + i, count, _mm256_mul_ps(_mm256_mul_ps(g, u), slope));
    storeUpTo(static_cast<T*>(a.gradUp) + i, count, _mm256_mul_ps(g, _mm256_mul_ps(x, s)));
  }
}

template <class T>
void rope(const RopeArguments& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t half = a.headDim / 2;
  const __m256 sign = _mm256_set1_ps(a.sign);
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t token = row % a.tokens;
    const std::int64_t head = row / a.tokens % a.heads;
    const std::int64_t batch = row / (a.tokens * a.heads);
    const T* x = static_cast<const T*>(a.x) + batch * a.batchStride + head * a.headStride + token * a.tokenStride;
    T* y = static_cast<T*>(a.y) + row * a.headDim;
    const float* cos = a.cos + (batch * a.tokens + token) * half;
    const float* sin = a.sin + (batch * a.tokens + token) * half;
    forEights(half, [&](std::int64_t i, std::int64_t count, int) {
      const __m256 low = loadUpTo(x + i, count);
      const __m256 high = loadUpTo(x + half + i, count);
      const __m256 c = loadUpTo(cos + i, count);
      const __m256 s = _mm256_mul_ps(sign, loadUpTo(sin + i, count));
      storeUpTo(y + i, count, _mm256_fnmadd_ps(high, s, _mm256_mul_ps(low, c)));
      storeUpTo(y + half + i, count, _mm256_fmadd_ps(low, s, _mm256_mul_ps(high, c)));
    });
  }
}

}  // namespace

void rmsNormForward(Element element, const RmsNormArguments& a, std::int64_t begin, std::int64_t end) {
  element == Element::kFloat ? rmsForward<float>(a, begin, end) : rmsForward<BFloat>(a, begin, end);
}

void rmsNormGradInput(Element element, const RmsNormGradArguments& a, std::int64_t begin, std::int64_t end) {
  element == Element::kFloat ? rmsGradInput<float>(a, begin, end) : rmsGradInput<BFloat>(a, begin, end);
}

void rmsNormGradWeightPartial(Element element, const RmsNormGradArguments& a, std::int64_t rows, float* partial,
                              std::int64_t begin, std::int64_t end) {
  element == Element::kFloat ? rmsGradWeight<float>(a, rows, partial, begin, end)
                             : rmsGradWeight<BFloat>(a, rows, partial, begin, end);
}

void pairwiseRows(float* rows, std::int64_t count, std::int64_t width) {
  for (std::int64_t stride = 1; stride < count; stride *= 2) {
    for (std::int64_t i = 0; i + stride < count; i += 2 * stride) {
      float* into = rows + i * width;
      const float* from = rows + (i + stride) * width;
      forEights(width, [&](std::int64_t c, std::int64_t n, int) {
        storeUpTo(into + c, n, _mm256_add_ps(loadUpTo(into + c, n), loadUpTo(from + c, n)));
      });
    }
  }
}

void storeRow(Element element, const float* src, std::int64_t count, void* dst) {
  forEights(count, [&](std::int64_t i, std::int64_t n, int) {
    const __m256 x = loadUpTo(src + i, n);
    if (element == Element::kFloat) {
      storeUpTo(static_cast<float*>(dst) + i, n, x);
    } else {
      storeUpTo(static_cast<BFloat*>(dst) + i, n, x);
    }
  });
}

void siluMulForward(Element element, const void* gate, const void* up, void* out, std::int64_t begin,
                    std::int64_t end) {
  if (element == Element::kFloat) {
    siluForward(static_cast<const float*>(gate), static_cast<const float*>(up), static_cast<float*>(out), begin, end);
  } else {
    siluForward(static_cast<const BFloat*>(gate), static_cast<const BFloat*>(up), static_cast<BFloat*>(out), begin,
                end);
  }
}

void siluMulBackward(Element element, const SiluMulGradArguments& a, std::int64_t begin, std::int64_t end) {
  element == Element::kFloat ? siluBackward<float>(a, begin, end) : siluBackward<BFloat>(a, begin, end);
}

void ropeRows(Element element, const RopeArguments& a, std::int64_t begin, std::int64_t end) {
  element == Element::kFloat ? rope<float>(a, begin, end) : rope<BFloat>(a, begin, end);
}

}  // namespace redraft::model::simd
