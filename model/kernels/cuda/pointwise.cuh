#pragma once
// Operations that need no sums: a thread a pack of four elements. Formulas: simd/rows.cc.

#include "model/kernels/cuda/elements.cuh"

namespace redraft::model::gpu {

inline constexpr int kPointThreads = 256;

struct SiluMulForward {
  const void* gate;
  const void* up;
  void* out;
  std::int64_t count;
  int whole;
};

struct SiluMulBackward {
  const void* grad;
  const void* gate;
  const void* up;
  void* gradGate;
  void* gradUp;
  std::int64_t count;
  int whole;
};

struct Rope {
  const void* x;
  const float* cos;  // [batch, tokens, half]
  const float* sin;
  void* y;           // contiguous
  RowLayout layout;  // of x: batch, heads, tokens
  std::uint32_t rows;
  int half;
  float sign;  // 1 rotates, −1 rotates back
  int whole;
};

inline std::int64_t thisPack() {
  return blockIndex(0) * static_cast<std::int64_t>(kPointThreads) + static_cast<std::int64_t>(threadIndex());
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

template <class T>
inline void siluMulForward(const SiluMulForward& a) {
  const std::int64_t first = thisPack() * kPack;
  if (first >= a.count) return;
  const Pack gate = readPack(static_cast<const T*>(a.gate), first, a.count, a.whole != 0);
  const Pack up = readPack(static_cast<const T*>(a.up), first, a.count, a.whole != 0);
  Pack out;
  REDRAFT_UNROLL
  for (int j = 0; j < kPack; ++j) out.at[j] = gate.at[j] * sigmoid(gate.at[j]) * up.at[j];
  writePack(static_cast<T*>(a.out), first, a.count, a.whole != 0, out);
}

template <class T>
inline void siluMulBackward(const SiluMulBackward& a) {
  const std::int64_t first = thisPack() * kPack;
  if (first >= a.count) return;
  const Pack grad = readPack(static_cast<const T*>(a.grad), first, a.count, a.whole != 0);
  const Pack gate = readPack(static_cast<const T*>(a.gate), first, a.count, a.whole != 0);
  const Pack up = readPack(static_cast<const T*>(a.up), first, a.count, a.whole != 0);
  Pack gradGate, gradUp;
  REDRAFT_UNROLL
  for (int j = 0; j < kPack; ++j) {
    const float x = gate.at[j], s = sigmoid(x);
    gradGate.at[j] = grad.at[j] * up.at[j] * (s * (x * (1.0f - s) + 1.0f));
    gradUp.at[j] = grad.at[j] * (x * s);
  }
  writePack(static_cast<T*>(a.gradGate), first, a.count, a.whole != 0, gradGate);
  writePack(static_cast<T*>(a.gradUp), first, a.count, a.whole != 0, gradUp);
}

template <class T>
inline void rope(const Rope& a) {
  const int packs = (a.half + kPack - 1) / kPack;
  const std::int64_t at = thisPack();
  if (at >= static_cast<std::int64_t>(a.rows) * packs) return;
  const auto row = static_cast<std::uint32_t>(at / packs);
  const int i = static_cast<int>(at % packs) * kPack;
  const bool whole = a.whole != 0;
  const std::int64_t tokens = a.layout.n2, batch = row / (a.layout.n1 * a.layout.n2);
  const std::int64_t angle = (batch * tokens + row % a.layout.n2) * a.half;
  const T* x = static_cast<const T*>(a.x) + offsetOf(a.layout, row);
  T* y = static_cast<T*>(a.y) + static_cast<std::int64_t>(row) * 2 * a.half;
  const Pack low = readPack(x, i, a.half, whole), high = readPack(x + a.half, i, a.half, whole);
  const Pack c = readPack(a.cos + angle, i, a.half, whole), s = readPack(a.sin + angle, i, a.half, whole);
  Pack turnedLow, turnedHigh;
  REDRAFT_UNROLL
  for (int j = 0; j < kPack; ++j) {
    const float sine = a.sign * s.at[j];
    turnedLow.at[j] = low.at[j] * c.at[j] - high.at[j] * sine;
    turnedHigh.at[j] = high.at[j] * c.at[j] + low.at[j] * sine;
  }
  writePack(y, i, a.half, whole, turnedLow);
  writePack(y + a.half, i, a.half, whole, turnedHigh);
}

}  // namespace redraft::model::gpu
