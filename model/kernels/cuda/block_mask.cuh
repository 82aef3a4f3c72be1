#pragma once
// The block mask built on the GPU: the same rows and columns as makeDraftMask's and makeCausalMask's on the CPU
// (block_mask.cc), element for element. Two kernels, one block a row (a tile of queries of one batch row): the first
// counts the row's tiles, the second sums the counts before its own and writes its columns.

#include "model/kernels/cuda/attention_tiles.cuh"

namespace redraft::model::gpu {

/// Shared memory of either kernel, in bytes: a number a thread.
inline constexpr unsigned kMaskShared = kThreads * sizeof(int);

enum class Cover : int { kNone, kPartial, kFull };

inline bool touches(const KeyRange& keys, std::int64_t tile) {
  return !keys.empty() && keys.begin / kKeyTile <= tile && tile < tileCount(keys.end, kKeyTile);
}

/// What queries [begin, end) see of a key tile. A block's slots see monotone ranges, so its first and its last slot
/// bound them all.
inline Cover coverOf(MaskRule rule, const AttentionShape& s, const std::int32_t* anchors, const std::uint8_t* keep,
                     std::int64_t begin, std::int64_t end, std::int64_t tile) {
  const std::int64_t firstKey = tile * kKeyTile, lastKey = firstKey + kKeyTile;
  const std::int64_t group = rule == MaskRule::kCausal ? s.queries : s.blockSize;
  bool touched = false, allContext = true, allOwn = true;
  for (std::int64_t first = begin; first < end;) {
    const std::int64_t blockEnd = (first / group + 1) * group, last = (blockEnd < end ? blockEnd : end) - 1;
    const VisibleKeys low = visibleKeys(rule, s, anchors, keep, first),
                      high = visibleKeys(rule, s, anchors, keep, last);
    touched =
        touched || touches({low.context.begin, high.context.end}, tile) || touches({low.own.begin, high.own.end}, tile);
    allContext = allContext && high.context.begin <= firstKey && lastKey <= low.context.end;
    allOwn = allOwn && high.own.begin <= firstKey && lastKey <= low.own.end;
    first = last + 1;
  }
  if (!touched) return Cover::kNone;
  return lastKey <= s.keys && (allContext || allOwn) ? Cover::kFull : Cover::kPartial;
}

struct MaskRow {
  std::int64_t row, begin, end;
  const std::int32_t* anchors;
  const std::uint8_t* keep;
};
inline MaskRow thisMaskRow(const std::int32_t* anchors, const std::uint8_t* keep, const AttentionShape& s) {
  const std::int64_t row = blockIndex(0), tiles = tileCount(s.queries, kQueryTile);
  const std::int64_t batch = row / tiles, begin = row % tiles * kQueryTile, end = begin + kQueryTile;
  return {row, begin, end < s.queries ? end : s.queries, anchors + batch * s.blocks, keep + batch * s.blocks};
}

/// Sum over the threads before `upTo`, in their order; every thread's number is in `shared` afterwards.
inline int sumBefore(int* shared, int mine, int upTo) {
  syncBlock();
  shared[threadIndex()] = mine;
  syncBlock();
  int sum = 0;
  for (int i = 0; i < upTo; ++i) sum += shared[i];
  return sum;
}

/// counts [batch · query tiles]. Grid: that.
inline void blockMaskCount(MaskRule rule, const std::int32_t* anchors, const std::uint8_t* keep, std::int32_t* counts,
                           const AttentionShape& s) {
  const MaskRow at = thisMaskRow(anchors, keep, s);
  int count = 0;
  for (std::int64_t tile = threadIndex(); tile < tileCount(s.keys, kKeyTile); tile += kThreads) {
    count += coverOf(rule, s, at.anchors, at.keep, at.begin, at.end, tile) != Cover::kNone;
  }
  const int total = sumBefore(reinterpret_cast<int*>(dynamicShared()), count, kThreads);
  if (threadIndex() == 0) counts[at.row] = total;
}

/// rowOffsets [batch · query tiles + 1], columns [at most batch · query tiles · key tiles]. Grid: batch · query tiles.
inline void blockMaskFill(MaskRule rule, const std::int32_t* anchors, const std::uint8_t* keep,
                          const std::int32_t* counts, std::int32_t* rowOffsets, std::uint32_t* columns,
                          const AttentionShape& s) {
  const MaskRow at = thisMaskRow(anchors, keep, s);
  int* shared = reinterpret_cast<int*>(dynamicShared());
  const int thread = static_cast<int>(threadIndex());
  int before = 0;
  for (std::int64_t row = thread; row < at.row; row += kThreads) before += counts[row];
  int next = sumBefore(shared, before, kThreads);
  if (thread == 0) {
    rowOffsets[at.row] = next;
    rowOffsets[at.row + 1] = next + counts[at.row];  // the next row writes the same
  }
  const std::int64_t tiles = tileCount(s.keys, kKeyTile);
  for (std::int64_t chunk = 0; chunk < tiles; chunk += kThreads) {
    const std::int64_t tile = chunk + thread;
    const Cover cover = tile < tiles ? coverOf(rule, s, at.anchors, at.keep, at.begin, at.end, tile) : Cover::kNone;
    const int place = next + sumBefore(shared, cover != Cover::kNone ? 1 : 0, thread);
    if (cover != Cover::kNone) {
      columns[place] = static_cast<std::uint32_t>(tile) | (cover == Cover::kFull ? 0 : kPartialTile);
    }
    for (int i = 0; i < kThreads; ++i) next += shared[i];
  }
}

}  // namespace redraft::model::gpu
