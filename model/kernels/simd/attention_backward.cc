#include <algorithm>
#include <vector>

#include "base/error.h"
#include "model/kernels/simd/attention_choice.h"
#include "model/kernels/simd/attention_tiles.h"

namespace redraft::model::simd {
namespace {

thread_local Scratch tOperands, tWork;

/// The mask's tiles by key tile instead of query tile, both ascending.
struct TilesByKey {
  std::vector<std::int32_t> offsets;   // [batch · key tiles + 1]
  std::vector<std::uint32_t> entries;  // query tile, with kPartialTile
};

TilesByKey turnTiles(const AttentionShape& s, const std::int32_t* rowOffsets, const std::uint32_t* columns) {
  const std::int64_t queryTiles = tileCount(s.queries, kQueryTile), keyTiles = tileCount(s.keys, kKeyTile);
  TilesByKey turned;
  turned.offsets.assign(static_cast<std::size_t>(s.batch * keyTiles + 1), 0);
  const auto forAll = [&](auto visit) {
    for (std::int64_t row = 0; row < s.batch * queryTiles; ++row) {
      for (std::int32_t e = rowOffsets[row]; e < rowOffsets[row + 1]; ++e) {
        const auto key = static_cast<std::size_t>(row / queryTiles * keyTiles + (columns[e] & ~kPartialTile));
        visit(key, static_cast<std::uint32_t>(row % queryTiles) | (columns[e] & kPartialTile));
      }
    }
  };
  forAll([&](std::size_t key, std::uint32_t) { ++turned.offsets[key + 1]; });
  for (std::size_t i = 1; i < turned.offsets.size(); ++i) turned.offsets[i] += turned.offsets[i - 1];
  turned.entries.resize(static_cast<std::size_t>(turned.offsets.back()));
  std::vector<std::int32_t> next(turned.offsets.begin(), turned.offsets.end() - 1);
  forAll([&](std::size_t key, std::uint32_t entry) { turned.entries[static_cast<std::size_t>(next[key]++)] = entry; });
  return turned;
}

/// Everything as float32; [batch · heads, queries, headDim] and [batch · keyHeads, keys, headDim].
struct Operands {
  const float* q;  // scaled
  const float* k;
  const float* keysTransposed;
  const float* valuesTransposed;
  const float* gradOut;
  const float* lse;
  const float* delta;  // Σ_d gradOut · out
  float* gradQ;
  const std::int32_t* anchors;
  const std::uint8_t* keep;
};

/// One pair of tiles of one query head.
struct Pair {
  std::int64_t queryRow, queries, firstKey, keys;
  float *p, *ds;  // [queries, kKeyTile]
};

template <class T>
void rowDots(const T* a, const T* b, std::int64_t rows, std::int64_t width, float* out) {
  parallelFor(rows, std::max<std::int64_t>(1, 16384 / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      LaneSum sum;
      forEights(width, [&](std::int64_t i, std::int64_t n, int lane) {
        const __m256 left = loadUpTo(a + row * width + i, n), right = loadUpTo(b + row * width + i, n);
        sum.lane[lane] = _mm256_fmadd_ps(left, right, sum.lane[lane]);
      });
      out[row] = sum.total();
    }
  });
}

/// p = e^(score - lse) where visible, ds = p (dp - delta).
void probabilities(const Pair& pair, const Operands& o, const TileRows* rows) {
  for (std::int64_t i = 0; i < pair.queries; ++i) {
    const __m256 lse = _mm256_set1_ps(o.lse[pair.queryRow + i]);
    const __m256 delta = _mm256_set1_ps(o.delta[pair.queryRow + i]);
    float *p = pair.p + i * kKeyTile, *ds = pair.ds + i * kKeyTile;
    for (std::int64_t j = 0; j < kKeyTile; j += 8) {
      __m256 x = exp8(_mm256_sub_ps(load8(p + j), lse));
      if (rows != nullptr) x = _mm256_and_ps(x, visibleLanes(rows->row[i], pair.firstKey + j));
      store8(p + j, x);
      store8(ds + j, _mm256_mul_ps(x, _mm256_sub_ps(load8(ds + j), delta)));
    }
  }
}

template <int D>
void backwardPair(const AttentionShape& s, const Operands& o, const Pair& pair, const float* keysTransposed,
                  const float* valuesTransposed, const float* keys, const TileRows* rows, float* gradKeys,
                  float* gradValues) {
  const std::int64_t d = D > 0 ? D : s.headDim;
  const float *q = o.q + pair.queryRow * d, *gradOut = o.gradOut + pair.queryRow * d;
  smallProduct(pair.queries, kKeyTile, d, {q, d, 1}, keysTransposed, kKeyTile, pair.p, kKeyTile, true);
  smallProduct(pair.queries, kKeyTile, d, {gradOut, d, 1}, valuesTransposed, kKeyTile, pair.ds, kKeyTile, true);
  probabilities(pair, o, rows);
  smallProduct(pair.keys, d, pair.queries, {pair.p, 1, kKeyTile}, gradOut, d, gradValues, d, false);
  smallProduct(pair.keys, d, pair.queries, {pair.ds, 1, kKeyTile}, q, d, gradKeys, d, false);
  smallProduct(pair.queries, d, pair.keys, {pair.ds, kKeyTile, 1}, keys, d, o.gradQ + pair.queryRow * d, d, false);
}

/// All of one key head: its own gradients, and those of the query heads that read it.
template <int D, class T>
void backwardHead(const AttentionShape& s, MaskRule rule, const Operands& o, const TilesByKey& tiles, T* gradK,
                  T* gradV, std::int64_t keyHead) {
  const std::int64_t d = D > 0 ? D : s.headDim, keyTiles = tileCount(s.keys, kKeyTile);
  const std::int64_t batch = keyHead / s.keyHeads, group = s.heads / s.keyHeads;
  float* gradKeys = tWork.floats(static_cast<std::size_t>(2 * kKeyTile * d + 2 * kQueryTile * kKeyTile));
  float* gradValues = gradKeys + kKeyTile * d;
  Pair pair{};
  pair.p = gradValues + kKeyTile * d;
  pair.ds = pair.p + kQueryTile * kKeyTile;
  TileRows rows;
  for (std::int64_t keyTile = 0; keyTile < keyTiles; ++keyTile) {
    std::fill_n(gradKeys, 2 * kKeyTile * d, 0.0f);
    pair.firstKey = keyTile * kKeyTile;
    pair.keys = std::min(kKeyTile, s.keys - pair.firstKey);
    const std::int64_t tile = (keyHead * keyTiles + keyTile) * kKeyTile * d;
    const std::int64_t keyRow = (keyHead * s.keys + pair.firstKey) * d;
    const auto index = static_cast<std::size_t>(batch * keyTiles + keyTile);
    for (std::int32_t e = tiles.offsets[index]; e < tiles.offsets[index + 1]; ++e) {
      const std::uint32_t entry = tiles.entries[static_cast<std::size_t>(e)];
      const std::int64_t first = (entry & ~kPartialTile) * kQueryTile;
      const bool partial = (entry & kPartialTile) != 0;
      pair.queries = std::min(kQueryTile, s.queries - first);
      if (partial) {
        fillTileRows(rule, s, o.anchors + batch * s.blocks, o.keep + batch * s.blocks, first, pair.queries, &rows);
      }
      for (std::int64_t h = 0; h < group; ++h) {
        pair.queryRow = (keyHead * group + h) * s.queries + first;
        backwardPair<D>(s, o, pair, o.keysTransposed + tile, o.valuesTransposed + tile, o.k + keyRow,
                        partial ? &rows : nullptr, gradKeys, gradValues);
      }
    }
    scaledCopyOut(gradKeys, pair.keys * d, 1.0f, gradK + keyRow);
    scaledCopyOut(gradValues, pair.keys * d, 1.0f, gradV + keyRow);
  }
}

/// Where the operands' float32 copies lie in one workspace.
template <class T>
struct Workspace {
  std::int64_t queryElements, keyElements, keyTileElements, rows;
  float* next;

  explicit Workspace(const AttentionShape& s)
      : queryElements(s.batch * s.heads * s.queries * s.headDim),
        keyElements(s.batch * s.keyHeads * s.keys * s.headDim),
        keyTileElements(s.batch * s.keyHeads * tileCount(s.keys, kKeyTile) * kKeyTile * s.headDim),
        rows(s.batch * s.heads * s.queries),
        next(tOperands.floats(static_cast<std::size_t>(queryElements + 2 * keyTileElements + rows +
                                                       widenedCount<T>(keyElements + 2 * queryElements)))) {}
  float* take(std::int64_t count) {
    float* taken = next;
    next += count;
    return taken;
  }
};

template <class T>
void scaleQueries(const T* q, const AttentionShape& s, float* dst) {
  const std::int64_t rows = s.batch * s.heads * s.queries;
  parallelFor(rows, std::max<std::int64_t>(1, 16384 / s.headDim), [&](std::int64_t begin, std::int64_t end) {
    scaledCopy(q + begin * s.headDim, (end - begin) * s.headDim, s.scale, dst + begin * s.headDim);
  });
}

template <int D, class T>
void backward(void** params, MaskRule rule) {
  const auto& s = *static_cast<const AttentionShape*>(params[kBwdShape]);
  REDRAFT_CHECK(D == 0 || s.headDim == D, "attention kernel launched for another head dim");
  Workspace<T> space(s);
  const TilesByKey tiles =
      turnTiles(s, param<const std::int32_t>(params, kBwdRowOffsets), param<const std::uint32_t>(params, kBwdColumns));
  float* q = space.take(space.queryElements);
  float* keysTransposed = space.take(space.keyTileElements);
  float* valuesTransposed = space.take(space.keyTileElements);
  float* delta = space.take(space.rows);
  const T* k = param<const T>(params, kBwdK);
  const T* gradOut = param<const T>(params, kBwdGradOut);
  T* gradQ = param<T>(params, kBwdGradQ);
  scaleQueries(param<const T>(params, kBwdQ), s, q);
  transposeTiles(k, s, keysTransposed);
  transposeTiles(param<const T>(params, kBwdV), s, valuesTransposed);
  rowDots(param<const T>(params, kBwdOut), gradOut, space.rows, s.headDim, delta);
  Operands o{};
  o.q = q;
  o.k = asFloats(k, space.keyElements, space.take(widenedCount<T>(space.keyElements)));
  o.keysTransposed = keysTransposed;
  o.valuesTransposed = valuesTransposed;
  o.gradOut = asFloats(gradOut, space.queryElements, space.take(widenedCount<T>(space.queryElements)));
  o.lse = param<const float>(params, kBwdLse);
  o.delta = delta;
  o.gradQ = floatsOr(gradQ, space.take(widenedCount<T>(space.queryElements)));
  o.anchors = param<const std::int32_t>(params, kBwdAnchors);
  o.keep = param<const std::uint8_t>(params, kBwdKeep);
  std::fill_n(o.gradQ, space.queryElements, 0.0f);
  T *gradK = param<T>(params, kBwdGradK), *gradV = param<T>(params, kBwdGradV);
  parallelTasks(s.batch * s.keyHeads, [&](std::int64_t keyHead, std::int64_t) {
    backwardHead<D, T>(s, rule, o, tiles, gradK, gradV, keyHead);
  });
  const std::int64_t rows = space.rows;
  parallelFor(rows, std::max<std::int64_t>(1, 16384 / s.headDim), [&](std::int64_t begin, std::int64_t end) {
    scaledCopyOut(o.gradQ + begin * s.headDim, (end - begin) * s.headDim, s.scale, gradQ + begin * s.headDim);
  });
}

template <int D, class T, MaskRule rule>
struct BackwardEntry {
  static void run(void** params) { backward<D, T>(params, rule); }
};

}  // namespace

Kernel attentionBackwardKernel(std::int64_t headDim, MaskRule rule, bool bfloat16) {
  return AttentionChoice<BackwardEntry>::of(headDim, rule, bfloat16);
}

}  // namespace redraft::model::simd
