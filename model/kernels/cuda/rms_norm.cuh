#pragma once
// RMS normalisation of rows. Forward: a warp a row, column c in lane (c / 4) mod 32, lanes by a butterfly. Backward: a
// block has a group of rows; its warps find each row's dot product, then its threads own columns and go through the
// rows in order. The weight's gradient is summed within the group, then over groups by a second kernel. The group's
// size follows from the width alone, and nothing is added atomically: no bit depends on the grid or the GPU.

#include "model/kernels/cuda/elements.cuh"

namespace redraft::model::gpu {

inline constexpr int kNormThreads = 256;
inline constexpr int kNormWarps = kNormThreads / 32;
inline constexpr int kSumColumns = 32, kSumLanes = 16;  // of rms_norm_backward_weight: columns by groups

struct RmsNormForward {
  const void* x;
  const void* weight;
  void* y;  // contiguous
  float* rms;
  RowLayout layout;  // of x
  std::uint32_t rows;
  int width;
  float eps;
  int whole;  // packs move as one access
};

struct RmsNormBackward {
  const void* grad;
  const void* x;
  const void* weight;
  const float* rms;
  void* gradX;     // contiguous; null: not wanted
  float* partial;  // [groups, width]; null: not wanted
  RowLayout gradLayout, layout;
  std::uint32_t rows;
  int width;
  int whole;
};

struct RmsNormBackwardWeight {
  const float* partial;
  void* gradWeight;
  std::uint32_t groups;
  int width;
};

/// How a block of backward shares out a row of `width`: threads side by side, each with one pack at a time.
constexpr int normColumns(int width) { return width <= 128 ? 32 : width <= 256 ? 64 : width <= 512 ? 128 : 256; }
constexpr int normRowLanes(int width) { return kNormThreads / normColumns(width); }
constexpr int normGroupRows(int width) { return normRowLanes(width) == 1 ? 16 : 32 * normRowLanes(width); }
/// Bytes: a float a row, and a pack a thread.
constexpr unsigned normBackwardShared(int width) {
  return static_cast<unsigned>(normGroupRows(width) + kNormThreads * kPack) * 4;
}
inline constexpr unsigned kNormWeightShared = kSumColumns * kSumLanes * 4;

template <class T>
inline void rmsNormForward(const RmsNormForward& a) {
  const int lane = static_cast<int>(threadIndex() % 32);
  const std::uint32_t row = blockIndex(0) * kNormWarps + threadIndex() / 32;
  if (row >= a.rows) return;
  const T* x = static_cast<const T*>(a.x) + offsetOf(a.layout, row);
  T* y = static_cast<T*>(a.y) + static_cast<std::int64_t>(row) * a.width;
  float squares = 0.0f;
  REDRAFT_UNROLL_BY_4
  for (int i = lane * kPack; i < a.width; i += 32 * kPack) {
    const Pack p = readPack(x, i, a.width, a.whole != 0);
    REDRAFT_UNROLL
    for (int j = 0; j < kPack; ++j) squares += p.at[j] * p.at[j];
  }
  const float r = 1.0f / squareRoot(warpSum(squares) / static_cast<float>(a.width) + a.eps);
  if (lane == 0) a.rms[row] = r;
  REDRAFT_UNROLL_BY_4
  for (int i = lane * kPack; i < a.width; i += 32 * kPack) {
    const Pack p = readPack(x, i, a.width, a.whole != 0);
    const Pack w = readPack(static_cast<const T*>(a.weight), i, a.width, a.whole != 0);
    Pack out;
    REDRAFT_UNROLL
    for (int j = 0; j < kPack; ++j) out.at[j] = w.at[j] * (p.at[j] * r);
    writePack(y, i, a.width, a.whole != 0, out);
  }
}

/// pulls[i] = r³ / width · Σ g w x of row first + i, one warp a row.
template <class T>
inline void rmsNormPulls(const RmsNormBackward& a, std::uint32_t first, std::uint32_t count, float* pulls) {
  const int lane = static_cast<int>(threadIndex() % 32);
  REDRAFT_NO_UNROLL
  for (std::uint32_t i = threadIndex() / 32; i < count; i += kNormWarps) {
    const T* g = static_cast<const T*>(a.grad) + offsetOf(a.gradLayout, first + i);
    const T* x = static_cast<const T*>(a.x) + offsetOf(a.layout, first + i);
    float dot = 0.0f;
    REDRAFT_UNROLL_BY_4
    for (int c = lane * kPack; c < a.width; c += 32 * kPack) {
      const Pack gs = readPack(g, c, a.width, a.whole != 0), xs = readPack(x, c, a.width, a.whole != 0);
      const Pack w = readPack(static_cast<const T*>(a.weight), c, a.width, a.whole != 0);
      REDRAFT_UNROLL
      for (int j = 0; j < kPack; ++j) dot += gs.at[j] * w.at[j] * xs.at[j];
    }
    dot = warpSum(dot);
    const float r = a.rms[first + i];
    if (lane == 0) pulls[i] = r * r * r * (dot / static_cast<float>(a.width));
  }
}

/// The columns of one pack through the group's rows from `lane` on: writes dx, returns Σ g x r.
template <class T>
inline Pack rmsNormColumns(const RmsNormBackward& a, std::uint32_t first, std::uint32_t count, int column,
                           std::uint32_t lane, const float* pulls) {
  const bool whole = a.whole != 0;
  const Pack w = readPack(static_cast<const T*>(a.weight), column, a.width, whole);
  Pack sum = {{0.0f, 0.0f, 0.0f, 0.0f}};
  REDRAFT_UNROLL_BY_2
  for (std::uint32_t i = lane; i < count; i += static_cast<std::uint32_t>(normRowLanes(a.width))) {
    const std::uint32_t row = first + i;
    const Pack g = readPack(static_cast<const T*>(a.grad) + offsetOf(a.gradLayout, row), column, a.width, whole);
    const Pack x = readPack(static_cast<const T*>(a.x) + offsetOf(a.layout, row), column, a.width, whole);
    const float r = a.rms[row];
    Pack dx;
    const float pull = a.gradX != nullptr ? pulls[i] : 0.0f;
    REDRAFT_UNROLL
    for (int j = 0; j < kPack; ++j) {
      dx.at[j] = r * (g.at[j] * w.at[j]) - pull * x.at[j];
      sum.at[j] += g.at[j] * (x.at[j] * r);
    }
    if (a.gradX != nullptr)
      writePack(static_cast<T*>(a.gradX) + static_cast<std::int64_t>(row) * a.width, column, a.width, whole, dx);
  }
  return sum;
}

template <class T>
inline void rmsNormBackward(const RmsNormBackward& a) {
  float* pulls = reinterpret_cast<float*>(dynamicShared());
  float* sums = pulls + normGroupRows(a.width);  // a pack a thread
  const auto groupRows = static_cast<std::uint32_t>(normGroupRows(a.width));
  const std::uint32_t group = blockIndex(0), first = group * groupRows;
  const std::uint32_t count = a.rows - first < groupRows ? a.rows - first : groupRows;
  if (a.gradX != nullptr) rmsNormPulls<T>(a, first, count, pulls);
  syncBlock();
  const int columns = normColumns(a.width), lanes = normRowLanes(a.width);
  const int thread = static_cast<int>(threadIndex()), mine = thread % columns, lane = thread / columns;
  float* partial = a.partial == nullptr ? nullptr : a.partial + static_cast<std::int64_t>(group) * a.width;
  // More than one round only where a row has all threads: then no sums cross lanes.
  REDRAFT_NO_UNROLL
  for (int round = 0; round < a.width; round += columns * kPack) {
    const int column = round + mine * kPack;
    Pack sum =
        rmsNormColumns<T>(a, first, column < a.width ? count : 0, column, static_cast<std::uint32_t>(lane), pulls);
    if (lanes > 1) {
      for (int j = 0; j < kPack; ++j) sums[thread * kPack + j] = sum.at[j];
      syncBlock();
      for (int other = 1; lane == 0 && other < lanes; ++other)
        for (int j = 0; j < kPack; ++j) sum.at[j] += sums[(other * columns + mine) * kPack + j];
    }
    if (partial != nullptr && lane == 0) writePack(partial, column, a.width, a.whole != 0, sum);
  }
}

/// Groups i, i + 16, … in a lane, ascending; then the lanes in order.
template <class T>
inline void rmsNormBackwardWeight(const RmsNormBackwardWeight& a) {
  float* sums = reinterpret_cast<float*>(dynamicShared());
  const std::uint32_t thread = threadIndex();
  const int column = static_cast<int>(blockIndex(0) * kSumColumns + thread % kSumColumns);
  float sum = 0.0f;
  REDRAFT_UNROLL_BY_4
  for (std::uint32_t group = thread / kSumColumns; column < a.width && group < a.groups; group += kSumLanes)
    sum += a.partial[static_cast<std::int64_t>(group) * a.width + column];
  sums[thread] = sum;
  syncBlock();
  if (thread >= kSumColumns || column >= a.width) return;
  for (int lane = 1; lane < kSumLanes; ++lane) sum += sums[lane * kSumColumns + static_cast<int>(thread)];
  write(static_cast<T*>(a.gradWeight) + column, sum);
}

}  // namespace redraft::model::gpu
