#include <algorithm>

#include "base/error.h"
#include "base/exact_math.h"
#include "model/kernels/simd/attention_choice.h"
#include "model/kernels/simd/attention_tiles.h"

namespace redraft::model::simd {
namespace {

thread_local Scratch tOperands, tWork;

struct Operands {
  const float* keysTransposed;
  const float* values;
  const std::int32_t* rowOffsets;
  const std::uint32_t* columns;
  const std::int32_t* anchors;
  const std::uint8_t* keep;
  float* lse;
};

/// One tile of queries on its way over the keys.
template <int D>
struct QueryTile {
  std::int64_t headDim() const { return D > 0 ? D : dim; }
  std::int64_t dim = 0, count = 0;
  float* q = nullptr;       // [count, headDim], scaled
  float* sum = nullptr;     // [count, headDim]: Σ p v
  float* scores = nullptr;  // [count, kKeyTile]
  float maximum[kQueryTile], total[kQueryTile];
  TileRows rows;
};

template <int D>
void maskScores(const QueryTile<D>& tile, std::int64_t firstKey) {
  const __m256 hidden = _mm256_set1_ps(kMinusInfinity);
  for (std::int64_t i = 0; i < tile.count; ++i) {
    for (std::int64_t j = 0; j < kKeyTile; j += 8) {
      float* at = tile.scores + i * kKeyTile + j;
      store8(at, _mm256_blendv_ps(hidden, load8(at), visibleLanes(tile.rows.row[i], firstKey + j)));
    }
  }
}

/// scores → probabilities relative to the running maximum; sums and maxima move on.
template <int D>
void softmaxStep(QueryTile<D>& tile) {
  float shift[kQueryTile] = {};
  alignas(32) float correction[kQueryTile] = {};
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const float* row = tile.scores + i * kKeyTile;
    __m256 lane[4];
    for (int k = 0; k < 4; ++k) lane[k] = _mm256_max_ps(load8(row + 8 * k), load8(row + 8 * k + 32));
    const float highest = max8(_mm256_max_ps(_mm256_max_ps(lane[0], lane[2]), _mm256_max_ps(lane[1], lane[3])));
    const float maximum = std::max(tile.maximum[i], highest);
    shift[i] = maximum == kMinusInfinity ? 0.0f : maximum;
    correction[i] = tile.maximum[i] - shift[i];
    tile.maximum[i] = maximum;
  }
  for (std::int64_t i = 0; i < tile.count; i += 8) {
    _mm256_store_ps(correction + i, exp8(_mm256_load_ps(correction + i)));
  }
  for (std::int64_t i = 0; i < tile.count; ++i) {
    float* row = tile.scores + i * kKeyTile;
    LaneSum sum;
    forEights(kKeyTile, [&](std::int64_t j, std::int64_t, int lane) {
      const __m256 p = exp8(_mm256_sub_ps(load8(row + j), _mm256_set1_ps(shift[i])));
      sum.lane[lane] = _mm256_add_ps(sum.lane[lane], p);
      store8(row + j, p);
    });
    tile.total[i] = tile.total[i] * correction[i] + sum.total();
    if (correction[i] == 1.0f) continue;
    float* out = tile.sum + i * tile.headDim();
    const __m256 factor = _mm256_set1_ps(correction[i]);
    for (std::int64_t c = 0; c < tile.headDim(); c += 8) store8(out + c, _mm256_mul_ps(load8(out + c), factor));
  }
}

template <int D, class T>
void finish(const QueryTile<D>& tile, T* out, float* lse) {
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const bool blind = tile.total[i] == 0.0f;
    lse[i] = blind ? kMinusInfinity : tile.maximum[i] + static_cast<float>(exactLog(tile.total[i]));
    const __m256 total = _mm256_set1_ps(blind ? 1.0f : tile.total[i]);
    for (std::int64_t c = 0; c < tile.headDim(); c += 8) {
      store8(out + i * tile.headDim() + c, _mm256_div_ps(load8(tile.sum + i * tile.headDim() + c), total));
    }
  }
}

template <int D, class T>
void forwardTile(const AttentionShape& s, MaskRule rule, const Operands& o, const T* q, T* out, std::int64_t task) {
  const std::int64_t queryTiles = tileCount(s.queries, kQueryTile), keyTiles = tileCount(s.keys, kKeyTile);
  const std::int64_t queryTile = task % queryTiles, head = task / queryTiles % s.heads;
  const std::int64_t batch = task / queryTiles / s.heads;
  const std::int64_t keyHead = batch * s.keyHeads + head / (s.heads / s.keyHeads);
  const std::int64_t first = queryTile * kQueryTile, row = (batch * s.heads + head) * s.queries + first;
  QueryTile<D> tile;
  tile.dim = s.headDim;
  tile.count = std::min(kQueryTile, s.queries - first);
  const std::int64_t d = tile.headDim();
  tile.q = tWork.floats(static_cast<std::size_t>(2 * kQueryTile * d + kQueryTile * kKeyTile));
  tile.sum = tile.q + kQueryTile * d;
  tile.scores = tile.sum + kQueryTile * d;
  scaledCopy(q + row * d, tile.count * d, s.scale, tile.q);
  std::fill_n(tile.sum, tile.count * d, 0.0f);
  std::fill_n(tile.maximum, kQueryTile, kMinusInfinity);
  std::fill_n(tile.total, kQueryTile, 0.0f);
  fillTileRows(rule, s, o.anchors + batch * s.blocks, o.keep + batch * s.blocks, first, tile.count, &tile.rows);
  const std::int32_t* offset = o.rowOffsets + batch * queryTiles + queryTile;
  for (std::int32_t e = offset[0]; e < offset[1]; ++e) {
    const std::int64_t column = o.columns[e] & ~kPartialTile, firstKey = column * kKeyTile;
    const float* keys = o.keysTransposed + (keyHead * keyTiles + column) * kKeyTile * d;
    smallProduct(tile.count, kKeyTile, d, {tile.q, d, 1}, keys, kKeyTile, tile.scores, kKeyTile, true);
    if ((o.columns[e] & kPartialTile) != 0) maskScores(tile, firstKey);
    softmaxStep(tile);
    const float* values = o.values + (keyHead * s.keys + firstKey) * d;
    smallProduct(tile.count, d, std::min(kKeyTile, s.keys - firstKey), {tile.scores, kKeyTile, 1}, values, d, tile.sum,
                 d, false);
  }
  finish(tile, out + row * d, o.lse + row);
}

template <int D, class T>
void forward(void** params, MaskRule rule) {
  const auto& s = *static_cast<const AttentionShape*>(params[kFwdShape]);
  REDRAFT_CHECK(D == 0 || s.headDim == D, "attention kernel launched for another head dim");
  const std::int64_t tiles = tileCount(s.keys, kKeyTile), keyElements = s.batch * s.keyHeads * s.keys * s.headDim;
  const std::int64_t transposed = s.batch * s.keyHeads * tiles * kKeyTile * s.headDim;
  float* room = tOperands.floats(static_cast<std::size_t>(transposed + widenedCount<T>(keyElements)));
  transposeTiles(param<const T>(params, kFwdK), s, room);
  const Operands operands{.keysTransposed = room,
                          .values = asFloats(param<const T>(params, kFwdV), keyElements, room + transposed),
                          .rowOffsets = param<const std::int32_t>(params, kFwdRowOffsets),
                          .columns = param<const std::uint32_t>(params, kFwdColumns),
                          .anchors = param<const std::int32_t>(params, kFwdAnchors),
                          .keep = param<const std::uint8_t>(params, kFwdKeep),
                          .lse = param<float>(params, kFwdLse)};
  const T* q = param<const T>(params, kFwdQ);
  T* out = param<T>(params, kFwdOut);
  parallelTasks(s.batch * s.heads * tileCount(s.queries, kQueryTile),
                [&](std::int64_t task, std::int64_t) { forwardTile<D, T>(s, rule, operands, q, out, task); });
}

template <int D, class T, MaskRule rule>
struct ForwardEntry {
  static void run(void** params) { forward<D, T>(params, rule); }
};

}  // namespace

Kernel attentionForwardKernel(std::int64_t headDim, MaskRule rule, bool bfloat16) {
  return AttentionChoice<ForwardEntry>::of(headDim, rule, bfloat16);
}

}  // namespace redraft::model::simd
