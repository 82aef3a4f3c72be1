#pragma once
// Optimiser and reduction kernels over flat float32 arrays.

#include <cstdint>

#include "model/kernels/simd/gemm.h"

namespace redraft::model::simd {

/// The scalars of one AdamW step, already combined in double and rounded once.
struct AdamwScalars {
  float decay;  // 1 - lr · weightDecay
  float oneMinusBeta1;
  float beta2;
  float oneMinusBeta2;
  float stepSize;   // lr / (1 - beta1^t)
  float rootBias2;  // sqrt(1 - beta2^t)
  float eps;
};

/// p ← decay p; m ← m + (1 - β₁)(g - m); v ← β₂ v + (1 - β₂) g²; p ← p - stepSize · m / (√v / rootBias2 + eps).
void adamw(const AdamwScalars& s, float* p, float* m, float* v, const float* g, std::int64_t begin, std::int64_t end);

/// Σ x² in float64 of the block-th kSumBlock elements: four lanes of four, then a fixed tree.
inline constexpr std::int64_t kSumBlock = 4096;
double blockSumOfSquares(Element element, const void* x, std::int64_t count, std::int64_t block);

void addExact(const float* a, const float* b, float* out, std::int64_t begin, std::int64_t end);

}  // namespace redraft::model::simd
