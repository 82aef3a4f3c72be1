#pragma once
// Row-wise kernels: each call does rows [begin, end), and a row's result depends on that row alone. Sums run over 32
// lanes (column c in lane c mod 32), then over a fixed tree. Arithmetic in float32; stores round to nearest even.

#include <cstdint>

#include "model/kernels/simd/gemm.h"

namespace redraft::model::simd {

/// y = w · (x · r), r = 1 / sqrt(mean(x²) + eps); rms[row] = r.
struct RmsNormArguments {
  const void* x;
  const void* weight;
  void* y;
  float* rms;
  std::int64_t width;
  float eps;
};
void rmsNormForward(Element element, const RmsNormArguments& a, std::int64_t begin, std::int64_t end);

/// dx = r (g w) - x r³ / n · Σ(g w x).
struct RmsNormGradArguments {
  const void* grad;
  const void* x;
  const void* weight;
  const float* rms;
  void* gradX;
  std::int64_t width;
};
void rmsNormGradInput(Element element, const RmsNormGradArguments& a, std::int64_t begin, std::int64_t end);
/// partial[i] = Σ g x r over the i-th group of kRowGroup rows, rows ascending; groups [begin, end).
inline constexpr std::int64_t kRowGroup = 32;
void rmsNormGradWeightPartial(Element element, const RmsNormGradArguments& a, std::int64_t rows, float* partial,
                              std::int64_t begin, std::int64_t end);
/// Sums `count` rows of `width` floats into the first by a pairwise tree: row i takes row i + stride, stride 1, 2, 4 …
void pairwiseRows(float* rows, std::int64_t count, std::int64_t width);
void storeRow(Element element, const float* src, std::int64_t count, void* dst);

/// out = silu(gate) · up over elements [begin, end).
void siluMulForward(Element element, const void* gate, const void* up, void* out, std::int64_t begin, std::int64_t end);
/// dGate = g · up · σ (1 + gate (1 - σ)), dUp = g · silu(gate).
struct SiluMulGradArguments {
  const void* grad;
  const void* gate;
  const void* up;
  void* gradGate;
  void* gradUp;
};
void siluMulBackward(Element element, const SiluMulGradArguments& a, std::int64_t begin, std::int64_t end);

/// x [rows, d] with row = (b, h, t); cos and sin [B · T, d / 2]. sign = 1 rotates, -1 rotates back.
struct RopeArguments {
  const void* x;
  const float* cos;
  const float* sin;
  void* y;
  std::int64_t heads, tokens, headDim;
  // Strides of x in elements; its last dimension is dense. y is contiguous.
  std::int64_t batchStride, headStride, tokenStride;
  float sign;
};
void ropeRows(Element element, const RopeArguments& a, std::int64_t begin, std::int64_t end);

struct CrossEntropyArguments {
  const void* logits;
  const std::int64_t* labels;  // each below `width`; negative: the row is ignored
  std::int64_t width;
  float* loss;           // lse - logit of the label; 0 where ignored
  std::int64_t* argmax;  // lowest index among equals; a NaN wins
  float* probability;
  float* logSumExp;
};
void crossEntropyForward(Element element, const CrossEntropyArguments& a, std::int64_t begin, std::int64_t end);

/// dLogits = g (softmax - one-hot of the label), 0 where ignored.
struct CrossEntropyGradArguments {
  const void* logits;
  const std::int64_t* labels;
  const float* logSumExp;
  const float* grad;
  void* gradLogits;
  std::int64_t width;
};
void crossEntropyBackward(Element element, const CrossEntropyGradArguments& a, std::int64_t begin, std::int64_t end);

}  // namespace redraft::model::simd
