#pragma once
// Backward, in two kernels that write nothing in common, so that no order of blocks shows in the result: one block a
// tile of queries for dq (and δ = Σ dout · out, which the other reads), one block a tile of keys of one key head for
// dk and dv. Both recompute p = e^(s - lse). Launch them in this order on one stream.

#include "model/kernels/cuda/attention_tiles.cuh"

namespace redraft::model::gpu {

/// As simd::BackwardParam, in that order, and one more: delta [batch, heads, queries], written by the first kernel.
struct BackwardArguments {
  const BFloat16 *q, *k, *v, *out;
  const float* lse;
  const BFloat16* gradOut;
  BFloat16 *gradQ, *gradK, *gradV;
  const std::int32_t* rowOffsets;
  const std::uint32_t* columns;
  const std::int32_t* anchors;
  const std::uint8_t* keep;
  float* delta;
};

/// Of the tile's queries: lse · log2 e (+∞ where a query sees nothing or is past the end, so that p is 0), δ, and what
/// each sees.
struct QueryFacts {
  float lse[kTile], delta[kTile];
  SeenKeys seen[kTile];
};

inline constexpr int kHalf = 4;  // fragments of 8 columns that are worked on at a time: half a tile

/// Shared memory in bytes. Queries: tiles of q, dout, k, v. Keys: the same and the hits of 128 query tiles.
constexpr unsigned backwardQueriesShared(int headDim) {
  return 4 * tileBytes(headDim) + static_cast<unsigned>(sizeof(QueryFacts));
}
constexpr unsigned backwardKeysShared(int headDim) {
  return backwardQueriesShared(headDim) + kThreads * static_cast<unsigned>(sizeof(int));
}

struct BackwardShared {
  BFloat16 *q, *gradOut, *k, *v;
  QueryFacts* facts;
  int* hits;  // keys kernel: per query tile of a chunk, 0 or 1 + (partial ? 1 : 0)
};
template <int D>
inline BackwardShared backwardShared() {
  BackwardShared shared;
  shared.q = reinterpret_cast<BFloat16*>(dynamicShared());
  shared.gradOut = shared.q + tileElements(D);
  shared.k = shared.gradOut + tileElements(D);
  shared.v = shared.k + tileElements(D);
  shared.facts = reinterpret_cast<QueryFacts*>(shared.v + tileElements(D));
  shared.hits = reinterpret_cast<int*>(shared.facts + 1);
  return shared;
}

template <MaskRule kRule>
inline void fillFacts(QueryFacts& facts, const BackwardArguments& a, const AttentionShape& s, std::int64_t head,
                      std::int64_t batch, std::int64_t first) {
  const int i = static_cast<int>(threadIndex());
  if (i >= kTile) return;
  const std::int64_t query = first + i;
  const float lse = query < s.queries ? a.lse[head * s.queries + query] : minusInfinity();
  facts.lse[i] = lse == minusInfinity() ? plusInfinity() : lse * kLog2E;
  facts.delta[i] = query < s.queries ? a.delta[head * s.queries + query] : 0.0f;
  facts.seen[i] = seenKeys(kRule, s, a.anchors + batch * s.blocks, a.keep + batch * s.blocks, query);
}

/// δ of the tile's queries, two threads a query.
template <int D>
inline void computeDelta(const BackwardArguments& a, const AttentionShape& s, std::int64_t head, std::int64_t first) {
  const std::int64_t query = first + threadIndex() / 2;
  const std::int64_t at = (head * s.queries + query) * D + threadIndex() % 2 * (D / 2);
  float sum = 0.0f;
  if (query < s.queries) {
    for (int i = 0; i < D / 2; ++i) sum += widen(a.out[at + i]) * widen(a.gradOut[at + i]);
  }
  sum += shuffleXor(sum, 1);
  if (query < s.queries && threadIndex() % 2 == 0) a.delta[head * s.queries + query] = sum;
}

/// Half a tile of scores and of dout · v becomes p and ds. `query(i)` and `key(n, i)` say whose element i of fragment n
/// is.
template <class Query, class Key>
inline void probabilities(FragmentC (&p)[kHalf], FragmentC (&ds)[kHalf], const QueryFacts& facts, bool partial,
                          float scale, Query query, Key key) {
  REDRAFT_UNROLL
  for (int n = 0; n < kHalf; ++n) {
    REDRAFT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int at = query(n, i);
      const bool seen = !partial || facts.seen[at].holds(key(n, i));
      const float value = seen ? exp2Fast(p[n][i] * scale - facts.lse[at]) : 0.0f;
      p[n][i] = value;
      ds[n][i] = value * (ds[n][i] - facts.delta[at]);
    }
  }
}

/// dq and δ. Grid: query tiles, heads, batch.
template <int D, MaskRule kRule>
inline void attentionBackwardQueries(const BackwardArguments& a, const AttentionShape& s) {
  const std::int64_t first = static_cast<std::int64_t>(blockIndex(0)) * kTile, batch = blockIndex(2);
  const std::int64_t head = batch * s.heads + blockIndex(1);
  const std::int64_t keyHead = batch * s.keyHeads + blockIndex(1) / (s.heads / s.keyHeads);
  const BackwardShared shared = backwardShared<D>();
  const Lane lane = thisLane();
  startTile<D>(shared.q, a.q + head * s.queries * D, first, s.queries);
  startTile<D>(shared.gradOut, a.gradOut + head * s.queries * D, first, s.queries);
  commitCopies();
  computeDelta<D>(a, s, head, first);
  syncBlock();  // δ is read by other threads of the block
  fillFacts<kRule>(*shared.facts, a, s, head, batch, first);

  FragmentC sum[D / 8] = {};
  const std::int64_t tileRow = batch * tileCount(s.queries, kTile) + blockIndex(0);
  const int row = lane.warp * kWarpRows;
  for (int entry = a.rowOffsets[tileRow]; entry < a.rowOffsets[tileRow + 1]; ++entry) {
    const int firstKey = static_cast<int>(a.columns[entry] & ~kPartialTile) * kTile;
    const bool partial = (a.columns[entry] & kPartialTile) != 0;
    syncBlock();  // the former tiles are done with
    startTile<D>(shared.k, a.k + keyHead * s.keys * D, firstKey, s.keys);
    startTile<D>(shared.v, a.v + keyHead * s.keys * D, firstKey, s.keys);
    commitCopies();
    waitForCopies<0>();
    syncBlock();
    REDRAFT_NO_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int column = half * kHalf * 8;
      FragmentC p[kHalf] = {}, ds[kHalf] = {};
      addProductOfTransposed<D>(p, shared.q, row, shared.k, column);
      addProductOfTransposed<D>(ds, shared.gradOut, row, shared.v, column);
      probabilities(
          p, ds, *shared.facts, partial, s.scale * kLog2E, [&](int, int i) { return row + lane.group + i / 2 * 8; },
          [&](int n, int i) { return firstKey + column + n * 8 + lane.pair * 2 + i % 2; });
      addProduct<D>(sum, ds, shared.k, column);
    }
  }
  waitForCopies<0>();  // of a tile that sees nothing
  storeRows<D>(a.gradQ + head * s.queries * D, first, s.queries, sum, {s.scale, s.scale});
}

/// Where `keyTile` stands among the ascending columns [begin, end): 0 when it is not there, else 1 + (partial ? 1 : 0).
inline int findTile(const std::uint32_t* columns, int begin, int end, std::uint32_t keyTile) {
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    const std::uint32_t tile = columns[middle] & ~kPartialTile;
    if (tile == keyTile) return (columns[middle] & kPartialTile) != 0 ? 2 : 1;
    if (tile < keyTile)
      begin = middle + 1;
    else
      end = middle;
  }
  return 0;
}

/// One tile of queries of one head, added to the tile of keys.
template <int D, MaskRule kRule>
inline void addQueries(const BackwardArguments& a, const AttentionShape& s, const BackwardShared& shared,
                       std::int64_t head, std::int64_t batch, std::int64_t first, int firstKey, bool partial,
                       FragmentC (&gradK)[D / 8], FragmentC (&gradV)[D / 8]) {
  const Lane lane = thisLane();
  const int row = lane.warp * kWarpRows;
  syncBlock();  // the former queries are done with
  startTile<D>(shared.q, a.q + head * s.queries * D, first, s.queries);
  startTile<D>(shared.gradOut, a.gradOut + head * s.queries * D, first, s.queries);
  commitCopies();
  fillFacts<kRule>(*shared.facts, a, s, head, batch, first);
  waitForCopies<0>();
  syncBlock();
  REDRAFT_NO_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int column = half * kHalf * 8;
    FragmentC p[kHalf] = {}, ds[kHalf] = {};
    addProductOfTransposed<D>(p, shared.k, row, shared.q, column);
    addProductOfTransposed<D>(ds, shared.v, row, shared.gradOut, column);
    probabilities(
        p, ds, *shared.facts, partial, s.scale * kLog2E,
        [&](int n, int i) { return column + n * 8 + lane.pair * 2 + i % 2; },
        [&](int, int i) { return firstKey + row + lane.group + i / 2 * 8; });
    addProduct<D>(gradV, p, shared.gradOut, column);
    addProduct<D>(gradK, ds, shared.q, column);
  }
}

/// dk and dv: query tiles ascending, the heads of the group ascending within one. Grid: key tiles, key heads, batch.
template <int D, MaskRule kRule>
inline void attentionBackwardKeys(const BackwardArguments& a, const AttentionShape& s) {
  const std::int64_t batch = blockIndex(2), group = s.heads / s.keyHeads;
  const std::int64_t keyHead = batch * s.keyHeads + blockIndex(1);
  const int firstKey = static_cast<int>(blockIndex(0)) * kTile;
  const int queryTiles = static_cast<int>(tileCount(s.queries, kTile));
  const BackwardShared shared = backwardShared<D>();
  startTile<D>(shared.k, a.k + keyHead * s.keys * D, firstKey, s.keys);
  startTile<D>(shared.v, a.v + keyHead * s.keys * D, firstKey, s.keys);
  commitCopies();
  FragmentC gradK[D / 8] = {}, gradV[D / 8] = {};
  for (int chunk = 0; chunk < queryTiles; chunk += kThreads) {
    const int mine = chunk + static_cast<int>(threadIndex());
    syncBlock();  // the former hits are done with
    const std::int64_t tileRow = batch * queryTiles + mine;
    shared.hits[threadIndex()] =
        mine < queryTiles ? findTile(a.columns, a.rowOffsets[tileRow], a.rowOffsets[tileRow + 1], blockIndex(0)) : 0;
    syncBlock();
    for (int i = 0; i < kThreads && chunk + i < queryTiles; ++i) {
      const int hit = shared.hits[i];
      if (hit == 0) continue;
      for (std::int64_t h = 0; h < group; ++h) {
        const std::int64_t head = batch * s.heads + blockIndex(1) * group + h;
        addQueries<D, kRule>(a, s, shared, head, batch, static_cast<std::int64_t>(chunk + i) * kTile, firstKey,
                             hit == 2, gradK, gradV);
      }
    }
  }
  waitForCopies<0>();  // of a tile that no query sees
  storeRows<D>(a.gradK + keyHead * s.keys * D, firstKey, s.keys, gradK, {s.scale, s.scale});
  storeRows<D>(a.gradV + keyHead * s.keys * D, firstKey, s.keys, gradV, {1.0f, 1.0f});
}

}  // namespace redraft::model::gpu
