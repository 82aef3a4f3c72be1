#pragma once
// Forward: a block owns a tile of queries of one head and goes over its key tiles, ascending (Dao, "FlashAttention-2").
// Keys of the next tile are copied while this one's probabilities and values are worked on.

#include "model/kernels/cuda/attention_tiles.cuh"

namespace redraft::model::gpu {

/// Shared memory of a block, in bytes: a tile of keys (at first of queries) and one of values.
constexpr unsigned forwardShared(int headDim) { return 2 * tileBytes(headDim); }

/// The running maximum (of scores · log2 e) and the sum of a row's probabilities, of rows group and group + 8.
struct RunningRows {
  float maximum[2], total[2];
};

/// Scores become probabilities relative to the new maximum; what was summed before is brought to it.
template <int D>
inline void softmaxStep(FragmentC (&p)[8], FragmentC (&sum)[D / 8], RunningRows& rows) {
  REDRAFT_UNROLL
  for (int half = 0; half < 2; ++half) {
    float highest = rows.maximum[half];
    REDRAFT_UNROLL
    for (int n = 0; n < 8; ++n) highest = larger(highest, larger(p[n][2 * half], p[n][2 * half + 1]));
    highest = rowMaximum(highest);
    // A row that has seen nothing so far: every difference is -∞, every probability 0.
    const float base = highest == minusInfinity() ? 0.0f : highest;
    const float correction = exp2Fast(rows.maximum[half] - base);
    float total = 0.0f;
    REDRAFT_UNROLL
    for (int n = 0; n < 8; ++n) {
      p[n][2 * half] = exp2Fast(p[n][2 * half] - base);
      p[n][2 * half + 1] = exp2Fast(p[n][2 * half + 1] - base);
      total += p[n][2 * half] + p[n][2 * half + 1];
    }
    rows.total[half] = rows.total[half] * correction + total;  // this lane's columns
    rows.maximum[half] = highest;
    REDRAFT_UNROLL
    for (int n = 0; n < D / 8; ++n) {
      sum[n][2 * half] *= correction;
      sum[n][2 * half + 1] *= correction;
    }
  }
}

/// Scores to base 2; hidden ones -∞.
inline void maskScores(FragmentC (&p)[8], const SeenKeys (&seen)[2], int firstKey, bool partial, float scale) {
  const int pair = thisLane().pair;
  REDRAFT_UNROLL
  for (int n = 0; n < 8; ++n) {
    REDRAFT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int key = firstKey + n * 8 + pair * 2 + i % 2;
      p[n][i] = partial && !seen[i / 2].holds(key) ? minusInfinity() : p[n][i] * scale;
    }
  }
}

/// Arguments as simd::ForwardParam. Grid: query tiles, heads, batch.
template <int D, MaskRule kRule>
inline void attentionForward(const BFloat16* q, const BFloat16* k, const BFloat16* v, BFloat16* out, float* lse,
                             const std::int32_t* rowOffsets, const std::uint32_t* columns, const std::int32_t* anchors,
                             const std::uint8_t* keep, const AttentionShape& s) {
  const std::int64_t first = static_cast<std::int64_t>(blockIndex(0)) * kTile, batch = blockIndex(2);
  const std::int64_t head = batch * s.heads + blockIndex(1);
  const std::int64_t keyHead = batch * s.keyHeads + blockIndex(1) / (s.heads / s.keyHeads);
  const Lane lane = thisLane();
  BFloat16* keys = reinterpret_cast<BFloat16*>(dynamicShared());
  BFloat16* values = keys + tileElements(D);
  k += keyHead * s.keys * D;
  v += keyHead * s.keys * D;

  startTile<D>(keys, q + head * s.queries * D, first, s.queries);
  commitCopies();
  waitForCopies<0>();
  syncBlock();
  FragmentA queries[D / 16];
  REDRAFT_UNROLL
  for (int i = 0; i < D / 16; ++i) loadA<D>(queries[i], keys, lane.warp * kWarpRows, i * 16);
  syncBlock();  // the queries' room is the keys'

  const std::int64_t row = first + lane.warp * kWarpRows + lane.group;
  const SeenKeys seen[2] = {seenKeys(kRule, s, anchors + batch * s.blocks, keep + batch * s.blocks, row),
                            seenKeys(kRule, s, anchors + batch * s.blocks, keep + batch * s.blocks, row + 8)};
  FragmentC sum[D / 8] = {};
  RunningRows rows = {{minusInfinity(), minusInfinity()}, {0.0f, 0.0f}};
  const std::int64_t tileRow = batch * tileCount(s.queries, kTile) + blockIndex(0);
  const int begin = rowOffsets[tileRow], end = rowOffsets[tileRow + 1];
  const auto keyOf = [&](int entry) { return static_cast<int>(columns[entry] & ~kPartialTile) * kTile; };
  if (begin < end) startTile<D>(keys, k, keyOf(begin), s.keys);
  commitCopies();
  for (int entry = begin; entry < end; ++entry) {
    waitForCopies<0>();
    syncBlock();  // these keys are there; the former values are done with
    startTile<D>(values, v, keyOf(entry), s.keys);
    commitCopies();
    FragmentC p[8] = {};
    REDRAFT_UNROLL
    for (int i = 0; i < D / 16; ++i) {
      REDRAFT_UNROLL
      for (int n = 0; n < 8; n += 2) {
        FragmentB b[2];
        loadBOfTransposed<D>(b, keys, n * 8, i * 16);
        multiplyAdd(p[n], queries[i], b[0]);
        multiplyAdd(p[n + 1], queries[i], b[1]);
      }
    }
    syncBlock();  // these keys are done with
    if (entry + 1 < end) startTile<D>(keys, k, keyOf(entry + 1), s.keys);
    commitCopies();
    maskScores(p, seen, keyOf(entry), (columns[entry] & kPartialTile) != 0, s.scale * kLog2E);
    softmaxStep<D>(p, sum, rows);
    waitForCopies<1>();
    syncBlock();  // these values are there
    addProduct<D>(sum, p, values, 0);
  }

  float factor[2];
  REDRAFT_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float total = rowSum(rows.total[half]);
    factor[half] = total > 0.0f ? 1.0f / total : 0.0f;
    if (lane.pair == 0 && row + half * 8 < s.queries) {
      lse[head * s.queries + row + half * 8] =
          total > 0.0f ? (rows.maximum[half] + log2Fast(total)) * kLn2 : minusInfinity();
    }
  }
  storeRows<D>(out + head * s.queries * D, first, s.queries, sum, factor);
}

}  // namespace redraft::model::gpu
