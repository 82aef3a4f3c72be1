#pragma once
// What the attention kernels share: tiles in shared memory, their fragments, and the rows that a thread holds. A block
// is four warps; a warp owns 16 rows of a tile of 64. Rows are padded by 16 bytes, so that the eight rows that ldmatrix
// reads at once lie in different banks.

#include "model/kernels/cuda/warp_ops.cuh"
#include "model/kernels/mask_geometry.h"

namespace redraft::model::gpu {

inline constexpr int kThreads = 128;
inline constexpr int kTile = 64;
inline constexpr int kWarpRows = 16;
inline constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;
inline constexpr int kMaxHeadDim = 128;
static_assert(kQueryTile == kTile && kKeyTile == kTile, "the mask's tiles are the kernels'");

constexpr int pitch(int headDim) { return headDim + 8; }
constexpr int tileElements(int headDim) { return kTile * pitch(headDim); }
constexpr unsigned tileBytes(int headDim) { return static_cast<unsigned>(tileElements(headDim)) * 2; }

inline float minusInfinity() { return widen({0xff80}); }
inline float plusInfinity() { return widen({0x7f80}); }

struct Lane {
  int warp, group, pair;  // group: rows `group` and `group + 8` of the warp's; pair: columns 2·pair and 2·pair + 1
  int lane;
};
inline Lane thisLane() {
  const int thread = static_cast<int>(threadIndex());
  return {thread / 32, thread % 32 / 4, thread % 4, thread % 32};
}

/// Starts copying rows [first, first + kTile) of x [rows, D] into a tile; rows past the end become 0.
template <int D>
inline void startTile(BFloat16* tile, const BFloat16* x, std::int64_t first, std::int64_t rows) {
  constexpr int kChunks = D / 8;
  for (int i = static_cast<int>(threadIndex()); i < kTile * kChunks; i += kThreads) {
    const int row = i / kChunks, column = i % kChunks * 8;
    const bool present = first + row < rows;
    copyAsync(tile + row * pitch(D) + column, x + (present ? first + row : 0) * D + column, present);
  }
}

/// Rows [row, row + 16), columns [column, column + 16) of a tile, as A.
template <int D>
inline void loadA(FragmentA& a, const BFloat16* tile, int row, int column) {
  const int lane = thisLane().lane;
  loadMatrices(a, tile + (row + lane % 16) * pitch(D) + column + lane / 16 * 8);
}

/// The transpose of rows [row, row + 16), columns [column, column + 16) as two fragments of B, eight rows each: for
/// products with tileᵀ, summed over the tile's columns.
template <int D>
inline void loadBOfTransposed(FragmentB (&b)[2], const BFloat16* tile, int row, int column) {
  const int lane = thisLane().lane;
  std::uint32_t r[4];
  loadMatrices(r, tile + (row + lane % 8 + lane / 16 * 8) * pitch(D) + column + lane / 8 % 2 * 8);
  b[0][0] = r[0], b[0][1] = r[1], b[1][0] = r[2], b[1][1] = r[3];
}

/// Rows [row, row + 16), columns [column, column + 16) as two fragments of B, eight columns each: for products with the
/// tile, summed over its rows.
template <int D>
inline void loadB(FragmentB (&b)[2], const BFloat16* tile, int row, int column) {
  const int lane = thisLane().lane;
  std::uint32_t r[4];
  loadMatricesTransposed(r, tile + (row + lane % 16) * pitch(D) + column + lane / 16 * 8);
  b[0][0] = r[0], b[0][1] = r[1], b[1][0] = r[2], b[1][1] = r[3];
}

/// c[16 rows, 8·N columns] += the warp's rows of `left` (from leftRow) · rightᵀ (rows from rightRow), over D.
template <int D, int N>
inline void addProductOfTransposed(FragmentC (&c)[N], const BFloat16* left, int leftRow, const BFloat16* right,
                                   int rightRow) {
  REDRAFT_UNROLL
  for (int k = 0; k < D; k += 16) {
    FragmentA a;
    loadA<D>(a, left, leftRow, k);
    REDRAFT_UNROLL
    for (int n = 0; n < N; n += 2) {
      FragmentB b[2];
      loadBOfTransposed<D>(b, right, rightRow + n * 8, k);
      multiplyAdd(c[n], a, b[0]);
      multiplyAdd(c[n + 1], a, b[1]);
    }
  }
}

/// Accumulators of 16 columns as a fragment of A, rounded to bfloat16.
inline void roundToA(FragmentA& a, const FragmentC& left, const FragmentC& right) {
  a[0] = packBFloat16(left[0], left[1]);
  a[1] = packBFloat16(left[2], left[3]);
  a[2] = packBFloat16(right[0], right[1]);
  a[3] = packBFloat16(right[2], right[3]);
}

/// sum[16 rows, D] += p[16 rows, 8·N] · rows [row, row + 8·N) of `right`; p rounded to bfloat16.
template <int D, int N>
inline void addProduct(FragmentC (&sum)[D / 8], const FragmentC (&p)[N], const BFloat16* right, int row) {
  REDRAFT_UNROLL
  for (int k = 0; k < N; k += 2) {
    FragmentA a;
    roundToA(a, p[k], p[k + 1]);
    REDRAFT_UNROLL
    for (int n = 0; n < D / 8; n += 2) {
      FragmentB b[2];
      loadB<D>(b, right, row + k * 8, n * 8);
      multiplyAdd(sum[n], a, b[0]);
      multiplyAdd(sum[n + 1], a, b[1]);
    }
  }
}

/// sum · factor (of the row), rounded, to rows [first, …) of x [rows, D]; rows past the end are left out.
template <int D>
inline void storeRows(BFloat16* x, std::int64_t first, std::int64_t rows, const FragmentC (&sum)[D / 8],
                      const float (&factor)[2]) {
  const Lane lane = thisLane();
  REDRAFT_UNROLL
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = first + lane.warp * kWarpRows + lane.group + half * 8;
    if (row >= rows) continue;
    REDRAFT_UNROLL
    for (int n = 0; n < D / 8; ++n) {
      *reinterpret_cast<std::uint32_t*>(x + row * D + n * 8 + lane.pair * 2) =
          packBFloat16(sum[n][2 * half] * factor[half], sum[n][2 * half + 1] * factor[half]);
    }
  }
}

/// Over the four lanes that hold a row.
inline float rowSum(float value) {
  value += shuffleXor(value, 1);
  return value + shuffleXor(value, 2);
}
inline float larger(float a, float b) { return a > b ? a : b; }
inline float rowMaximum(float value) {
  value = larger(value, shuffleXor(value, 1));
  return larger(value, shuffleXor(value, 2));
}

/// What a query sees, as 32-bit numbers: a mask has fewer than 2^30 keys.
struct SeenKeys {
  int contextBegin, contextEnd, ownBegin, ownEnd;
  bool holds(int key) const { return (contextBegin <= key && key < contextEnd) || (ownBegin <= key && key < ownEnd); }
};
inline SeenKeys seenKeys(MaskRule rule, const AttentionShape& s, const std::int32_t* anchors, const std::uint8_t* keep,
                         std::int64_t query) {
  if (query >= s.queries) return {0, 0, 0, 0};
  const VisibleKeys seen = visibleKeys(rule, s, anchors, keep, query);
  return {static_cast<int>(seen.context.begin), static_cast<int>(seen.context.end), static_cast<int>(seen.own.begin),
          static_cast<int>(seen.own.end)};
}

}  // namespace redraft::model::gpu
