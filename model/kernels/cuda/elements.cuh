#pragma once
// float32 and bfloat16 elements of global memory, in packs of four: computed in float32, rounded once when stored. A
// pack that ends beyond its row reads zeros there and writes nothing. Whether packs move as one access is the caller's
// to say (addresses and rows aligned to a pack); the same elements go to the same lanes either way, so that no bit
// depends on it.

#include "model/kernels/cuda/warp_ops.cuh"

#ifndef __CUDACC_RTC__
#include <cmath>
#endif

namespace redraft::model::gpu {

using Float32 = float;

inline constexpr int kPack = 4;

struct Pack {
  float at[kPack];
};

#ifdef __CUDACC_RTC__
#define REDRAFT_UNROLL_BY_2 _Pragma("unroll 2")
#define REDRAFT_UNROLL_BY_4 _Pragma("unroll 4")
inline float exponential(float x) { return expf(x); }
inline float logarithm(float x) { return logf(x); }
inline float squareRoot(float x) { return sqrtf(x); }
#else
#define REDRAFT_UNROLL_BY_2
#define REDRAFT_UNROLL_BY_4
inline float exponential(float x) { return std::exp(x); }
inline float logarithm(float x) { return std::log(x); }
inline float squareRoot(float x) { return std::sqrt(x); }
#endif

inline float read(const float* from) { return *from; }
inline float read(const BFloat16* from) { return widen(*from); }
inline void write(float* to, float value) { *to = value; }
inline void write(BFloat16* to, float value) { to->bits = static_cast<std::uint16_t>(packBFloat16(value, 0.0f)); }

struct alignas(16) FloatPack {
  float at[kPack];
};
struct alignas(8) BFloat16Pack {
  std::uint32_t pairs[kPack / 2];
};

inline Pack readWhole(const float* from) {
  const FloatPack pack = *reinterpret_cast<const FloatPack*>(from);
  return {{pack.at[0], pack.at[1], pack.at[2], pack.at[3]}};
}
inline Pack readWhole(const BFloat16* from) {
  const BFloat16Pack pack = *reinterpret_cast<const BFloat16Pack*>(from);
  const auto low = [](std::uint32_t pair) { return widen({static_cast<std::uint16_t>(pair)}); };
  const auto high = [](std::uint32_t pair) { return widen({static_cast<std::uint16_t>(pair >> 16)}); };
  return {{low(pack.pairs[0]), high(pack.pairs[0]), low(pack.pairs[1]), high(pack.pairs[1])}};
}
inline void writeWhole(float* to, const Pack& pack) {
  *reinterpret_cast<FloatPack*>(to) = {{pack.at[0], pack.at[1], pack.at[2], pack.at[3]}};
}
inline void writeWhole(BFloat16* to, const Pack& pack) {
  *reinterpret_cast<BFloat16Pack*>(to) = {{packBFloat16(pack.at[0], pack.at[1]), packBFloat16(pack.at[2], pack.at[3])}};
}

/// Elements [first, first + kPack) of `count` at `from`.
template <class T>
inline Pack readPack(const T* from, std::int64_t first, std::int64_t count, bool whole) {
  if (whole && first + kPack <= count) return readWhole(from + first);
  Pack pack;
  REDRAFT_UNROLL
  for (int i = 0; i < kPack; ++i) pack.at[i] = first + i < count ? read(from + first + i) : 0.0f;
  return pack;
}

template <class T>
inline void writePack(T* to, std::int64_t first, std::int64_t count, bool whole, const Pack& pack) {
  if (whole && first + kPack <= count) {
    writeWhole(to + first, pack);
    return;
  }
  REDRAFT_UNROLL
  for (int i = 0; i < kPack; ++i)
    if (first + i < count) write(to + first + i, pack.at[i]);
}

/// Whether a pack of elements of `bytes` each may begin at `pointer`.
inline bool packsAt(const void* pointer, int bytes) {
  return reinterpret_cast<unsigned long>(pointer) % static_cast<unsigned long>(kPack * bytes) == 0;
}

/// Of all lanes of the warp; every lane gets the same bits, because each step adds the same two numbers in both.
inline float warpSum(float value) {
  REDRAFT_UNROLL
  for (unsigned lanes = 16; lanes > 0; lanes /= 2) value += shuffleXor(value, lanes);
  return value;
}

/// Where the rows of a tensor of up to four dimensions lie whose last one has no gaps: row (i₀ n1 + i₁) n2 + i₂ begins
/// at i₀ s0 + i₁ s1 + i₂ s2 elements.
struct RowLayout {
  std::uint32_t n1 = 1, n2 = 1;
  std::int64_t s0 = 0, s1 = 0, s2 = 0;
};
inline std::int64_t offsetOf(const RowLayout& layout, std::uint32_t row) {
  const std::uint32_t i2 = row % layout.n2, rest = row / layout.n2;
  return rest / layout.n1 * layout.s0 + rest % layout.n1 * layout.s1 + i2 * layout.s2;
}

}  // namespace redraft::model::gpu
