#pragma once
// Cross-entropy of rows of logits. Forward: a block a row; a thread takes every 256th pack with a running maximum and
// the sum of exponentials below it, and threads combine by a fixed tree. Backward: a block a part of a row.

#include "model/kernels/cuda/elements.cuh"

namespace redraft::model::gpu {

inline constexpr int kEntropyThreads = 256;
inline constexpr int kEntropyPart = kEntropyThreads * kPack * 4;  // columns of a block of backward

struct CrossEntropyForward {
  const void* logits;  // [rows, width]
  const std::int64_t* labels;
  float* loss;
  std::int64_t* argmax;
  float* probability;
  float* logSumExp;
  int width;
  int whole;
};

struct CrossEntropyBackward {
  const void* logits;
  const std::int64_t* labels;
  const float* logSumExp;
  const float* grad;
  void* gradLogits;
  int width;
  int whole;
};

/// Of a part of a row: the largest logit (a NaN is larger than all) and its first place; the largest that is no NaN,
/// and Σ e^(x − that).
struct RowPart {
  float best, top, sum;
  int place;
};
inline constexpr unsigned kEntropyShared = kEntropyThreads * sizeof(RowPart);

inline bool isNan(float x) { return x != x; }

inline void addLogit(RowPart& part, float x, int column) {
  if (part.place < 0 || x > part.best || (isNan(x) && !isNan(part.best))) part.best = x, part.place = column;
  if (x > part.top) {
    part.sum *= exponential(part.top - x);
    part.top = x;
  }
  if (x == part.top)
    part.sum += 1.0f;  // also where both are infinite, and have no difference
  else
    part.sum += exponential(x - part.top);
}

/// Neither part lies before the other: among equals the lower place wins.
inline bool precedes(const RowPart& b, const RowPart& a) {
  if (isNan(a.best) || isNan(b.best)) return isNan(b.best) && (!isNan(a.best) || b.place < a.place);
  return b.best > a.best || (b.best == a.best && b.place < a.place);
}

inline float scaledSum(const RowPart& part, float top) {
  return part.top == top ? part.sum : part.sum * exponential(part.top - top);
}

inline RowPart combine(const RowPart& a, const RowPart& b) {
  if (b.place < 0) return a;
  if (a.place < 0) return b;
  RowPart all = precedes(b, a) ? b : a;
  all.top = a.top > b.top ? a.top : b.top;
  all.sum = scaledSum(a, all.top) + scaledSum(b, all.top);
  return all;
}

/// Of the whole row, in thread 0.
template <class T>
inline RowPart scanRow(const T* row, int width, bool whole) {
  RowPart part = {0.0f, widen({0xff80}), 0.0f, -1};
  REDRAFT_UNROLL_BY_4
  for (int i = static_cast<int>(threadIndex()) * kPack; i < width; i += kEntropyThreads * kPack) {
    const Pack p = readPack(row, i, width, whole);
    REDRAFT_UNROLL
    for (int j = 0; j < kPack; ++j)
      if (i + j < width) addLogit(part, p.at[j], i + j);
  }
  auto* parts = reinterpret_cast<RowPart*>(dynamicShared());
  const unsigned thread = threadIndex();
  parts[thread] = part;
  syncBlock();
  for (unsigned half = kEntropyThreads / 2; half > 0; half /= 2) {
    if (thread < half) parts[thread] = combine(parts[thread], parts[thread + half]);
    syncBlock();
  }
  return parts[0];
}

template <class T>
inline void crossEntropyForward(const CrossEntropyForward& a) {
  const std::int64_t row = blockIndex(0);
  const T* logits = static_cast<const T*>(a.logits) + row * a.width;
  const RowPart part = scanRow(logits, a.width, a.whole != 0);
  if (threadIndex() != 0) return;
  const float lse = part.top + logarithm(part.sum);
  const std::int64_t label = a.labels[row];
  // Labels are checked where they are made; one that is out of range is seen as a NaN.
  const float picked = label < 0 ? 0.0f : label < a.width ? read(logits + label) : widen({0x7fc0});
  a.loss[row] = label < 0 ? 0.0f : lse - picked;
  a.probability[row] = label < 0 ? 0.0f : exponential(picked - lse);
  a.argmax[row] = part.place;
  a.logSumExp[row] = lse;
}

constexpr int entropyParts(int width) { return (width + kEntropyPart - 1) / kEntropyPart; }

template <class T>
inline void crossEntropyBackward(const CrossEntropyBackward& a) {
  const auto parts = static_cast<unsigned>(entropyParts(a.width));
  const std::int64_t row = blockIndex(0) / parts;
  const int first = static_cast<int>(blockIndex(0) % parts) * kEntropyPart;
  const T* logits = static_cast<const T*>(a.logits) + row * a.width;
  T* out = static_cast<T*>(a.gradLogits) + row * a.width;
  const std::int64_t label = a.labels[row];
  const float lse = a.logSumExp[row], grad = a.grad[row];
  const int last = first + kEntropyPart < a.width ? first + kEntropyPart : a.width;
  REDRAFT_UNROLL_BY_4
  for (int i = first + static_cast<int>(threadIndex()) * kPack; i < last; i += kEntropyThreads * kPack) {
    const Pack p = readPack(logits, i, a.width, a.whole != 0);
    Pack d;
    REDRAFT_UNROLL
    for (int j = 0; j < kPack; ++j) {
      const float softmax = exponential(p.at[j] - lse);
      d.at[j] = label < 0 ? 0.0f : (softmax - (i + j == label ? 1.0f : 0.0f)) * grad;
    }
    writePack(out, i, a.width, a.whole != 0, d);
  }
}

}  // namespace redraft::model::gpu
