#pragma once
// The optimizer's passes over parameters and gradients. Squares are summed in float64: chunks of a fixed size by a
// fixed tree, then a tensor's chunks by a second kernel. Up to kSpanTensors tensors go into one launch, as parameters.

#include "model/kernels/cuda/elements.cuh"

namespace redraft::model::gpu {

inline constexpr int kOptimizerThreads = 256;
inline constexpr int kSpanTensors = 64;
inline constexpr std::int64_t kChunk = 16384;  // elements of a tensor that a block has

/// Scalars as simd::AdamwScalars has them.
struct AdamwStep {
  float* master;
  float* m;
  float* v;
  const float* grad;
  BFloat16* copy;  // of the parameter, rounded; null: there is none
  std::int64_t count;
  float decay, oneMinusBeta1, beta2, oneMinusBeta2, stepSize, rootBias2, eps;
  int whole;
};

/// Tensors shared out to blocks: tensor i has blocks [firstBlock[i], firstBlock[i + 1]).
template <class Pointer>
struct Span {
  Pointer data[kSpanTensors];
  std::int64_t count[kSpanTensors];
  std::uint32_t firstBlock[kSpanTensors + 1];
  int tensors;
};

struct SumsOfSquares {
  Span<const void*> span;
  double* partial;  // a block
  double* sums;     // a tensor
};
struct ScaleAll {
  Span<float*> span;
  float factor;
};
static_assert(sizeof(SumsOfSquares) <= 4096, "a launch takes 4 KiB of parameters");

inline constexpr unsigned kSquaresShared = kOptimizerThreads * 8;

template <class Pointer>
inline int tensorOfBlock(const Span<Pointer>& span, std::uint32_t block) {
  int low = 0, high = span.tensors - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (span.firstBlock[middle] <= block)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

inline void adamwStep(const AdamwStep& a) {
  const std::int64_t first =
      (blockIndex(0) * static_cast<std::int64_t>(kOptimizerThreads) + static_cast<std::int64_t>(threadIndex())) * kPack;
  if (first >= a.count) return;
  const bool whole = a.whole != 0;
  const Pack g = readPack(a.grad, first, a.count, whole);
  Pack p = readPack(a.master, first, a.count, whole), m = readPack(a.m, first, a.count, whole),
       v = readPack(a.v, first, a.count, whole);
  REDRAFT_UNROLL
  for (int j = 0; j < kPack; ++j) {
    m.at[j] += a.oneMinusBeta1 * (g.at[j] - m.at[j]);
    v.at[j] = a.oneMinusBeta2 * g.at[j] * g.at[j] + a.beta2 * v.at[j];
    const float root = squareRoot(v.at[j]) / a.rootBias2 + a.eps;
    p.at[j] = a.decay * p.at[j] - a.stepSize * (m.at[j] / root);
  }
  writePack(a.master, first, a.count, whole, p);
  writePack(a.m, first, a.count, whole, m);
  writePack(a.v, first, a.count, whole, v);
  if (a.copy != nullptr) writePack(a.copy, first, a.count, whole, p);
}

/// Of the block's threads, in thread 0.
inline double blockSum(double value) {
  auto* sums = reinterpret_cast<double*>(dynamicShared());
  const unsigned thread = threadIndex();
  sums[thread] = value;
  syncBlock();
  for (unsigned half = kOptimizerThreads / 2; half > 0; half /= 2) {
    if (thread < half) sums[thread] += sums[thread + half];
    syncBlock();
  }
  return sums[0];
}

template <class T>
inline void sumOfSquaresPartial(const SumsOfSquares& a) {
  const int tensor = tensorOfBlock(a.span, blockIndex(0));
  const T* data = static_cast<const T*>(a.span.data[tensor]);
  const std::int64_t count = a.span.count[tensor];
  const std::int64_t begin = (blockIndex(0) - a.span.firstBlock[tensor]) * kChunk;
  const std::int64_t end = begin + kChunk < count ? begin + kChunk : count;
  const bool whole = packsAt(data, sizeof(T));
  double sum = 0.0;
  REDRAFT_UNROLL_BY_4
  for (std::int64_t i = begin + threadIndex() * kPack; i < end; i += kOptimizerThreads * kPack) {
    const Pack p = readPack(data, i, count, whole);
    REDRAFT_UNROLL
    for (int j = 0; j < kPack; ++j) sum += static_cast<double>(p.at[j]) * static_cast<double>(p.at[j]);
  }
  sum = blockSum(sum);
  if (threadIndex() == 0) a.partial[blockIndex(0)] = sum;
}

inline void sumOfSquaresTotal(const SumsOfSquares& a) {
  const std::uint32_t tensor = blockIndex(0);
  double sum = 0.0;
  for (std::uint32_t i = a.span.firstBlock[tensor] + threadIndex(); i < a.span.firstBlock[tensor + 1];
       i += kOptimizerThreads)
    sum += a.partial[i];
  sum = blockSum(sum);
  if (threadIndex() == 0) a.sums[tensor] = sum;
}

inline void scaleAll(const ScaleAll& a) {
  const int tensor = tensorOfBlock(a.span, blockIndex(0));
  float* data = a.span.data[tensor];
  const std::int64_t count = a.span.count[tensor];
  const std::int64_t begin = (blockIndex(0) - a.span.firstBlock[tensor]) * kChunk;
  const std::int64_t end = begin + kChunk < count ? begin + kChunk : count;
  const bool whole = packsAt(data, sizeof(float));
  REDRAFT_UNROLL_BY_4
  for (std::int64_t i = begin + threadIndex() * kPack; i < end; i += kOptimizerThreads * kPack) {
    Pack p = readPack(data, i, count, whole);
    REDRAFT_UNROLL
    for (int j = 0; j < kPack; ++j) p.at[j] *= a.factor;
    writePack(data, i, count, whole, p);
  }
}

}  // namespace redraft::model::gpu
