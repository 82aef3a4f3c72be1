#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "model/kernels/attention.h"
#include "model/kernels/block_mask_gpu.h"
#include "model/kernels/kernel_call.h"
#include "model/kernels/mask_geometry.h"
#include "model/kernels/registry.h"

namespace redraft::model {
namespace {

constexpr const char* kName = "makeDraftMask";

/// What the queries of one tile see: tiles that any of them sees, and the keys that all of them see.
struct TileView {
  std::vector<KeyRange> touched;  // in key tiles
  KeyRange commonContext, commonOwn;

  void touch(const KeyRange& keys) {
    if (!keys.empty()) touched.push_back({keys.begin / kKeyTile, tileCount(keys.end, kKeyTile)});
  }
};

KeyRange intersect(const KeyRange& a, const KeyRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// A block's slots see monotone ranges, so its first and its last slot in the tile bound them all.
TileView viewOf(MaskRule rule, const AttentionShape& s, const std::int32_t* anchors, const std::uint8_t* keep,
                std::int64_t begin, std::int64_t end) {
  TileView view;
  const KeyRange all{0, std::numeric_limits<std::int64_t>::max()};
  view.commonContext = view.commonOwn = all;
  const std::int64_t group = rule == MaskRule::kCausal ? s.queries : s.blockSize;
  for (std::int64_t first = begin; first < end;) {
    const std::int64_t last = std::min(end, (first / group + 1) * group) - 1;
    const VisibleKeys low = visibleKeys(rule, s, anchors, keep, first);
    const VisibleKeys high = visibleKeys(rule, s, anchors, keep, last);
    view.touch({low.context.begin, high.context.end});
    view.touch({low.own.begin, high.own.end});
    view.commonContext = intersect(view.commonContext, {high.context.begin, low.context.end});
    view.commonOwn = intersect(view.commonOwn, {high.own.begin, low.own.end});
    first = last + 1;
  }
  std::sort(view.touched.begin(), view.touched.end(),
            [](const KeyRange& a, const KeyRange& b) { return a.begin < b.begin; });
  return view;
}

void appendColumns(const TileView& view, std::int64_t keys, std::vector<std::int32_t>* columns) {
  std::int64_t next = 0;
  for (const KeyRange& range : view.touched) {
    for (std::int64_t tile = std::max(next, range.begin); tile < range.end; ++tile) {
      const KeyRange of{tile * kKeyTile, (tile + 1) * kKeyTile};
      const auto inside = [&](const KeyRange& common) { return common.begin <= of.begin && of.end <= common.end; };
      const bool full = of.end <= keys && (inside(view.commonContext) || inside(view.commonOwn));
      columns->push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(tile) | (full ? 0 : kPartialTile)));
    }
    next = std::max(next, range.end);
  }
}

MaskTiles buildTiles(MaskRule rule, const AttentionShape& s, const std::int32_t* anchors, const std::uint8_t* keep) {
  const std::int64_t tiles = tileCount(s.queries, kQueryTile);
  at::Tensor offsets = at::empty({s.batch * tiles + 1}, at::kInt);
  auto* offset = offsets.mutable_data_ptr<std::int32_t>();
  std::vector<std::int32_t> columns;
  offset[0] = 0;
  for (std::int64_t row = 0; row < s.batch * tiles; ++row) {
    const std::int64_t batch = row / tiles, begin = row % tiles * kQueryTile;
    appendColumns(viewOf(rule, s, anchors + batch * s.blocks, keep + batch * s.blocks, begin,
                         std::min(s.queries, begin + kQueryTile)),
                  s.keys, &columns);
    offset[row + 1] = static_cast<std::int32_t>(columns.size());
  }
  at::Tensor list = at::empty({static_cast<std::int64_t>(columns.size())}, at::kInt);
  std::copy(columns.begin(), columns.end(), list.mutable_data_ptr<std::int32_t>());
  return {offsets, list};
}

using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Four draftTiles(const at::Tensor& anchorsIn, const at::Tensor& keepIn, std::int64_t context, std::int64_t blockSize,
                std::int64_t window) {
  require(anchorsIn.dim() == 2 && anchorsIn.scalar_type() == at::kLong, kName,
          "anchors are " + describe(anchorsIn) + "; they must be int64 [B, N]");
  require(keepIn.scalar_type() == at::kBool && keepIn.sizes() == anchorsIn.sizes(), kName,
          "keep is " + describe(keepIn) + "; it must be bool, of the shape of anchors " + describe(anchorsIn));
  require(context >= 0 && blockSize >= 1 && window >= 0, kName,
          "context " + std::to_string(context) + ", block size " + std::to_string(blockSize) + " and window " +
              std::to_string(window) + " must be at least 0, 1 and 0");
  const std::int64_t blocks = anchorsIn.size(1);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 2;
  require(context < kMost && blocks <= (kMost - context) / blockSize, kName,
          "context " + std::to_string(context) + " and " + std::to_string(blocks) + " blocks are too many keys");
  at::Tensor anchors = anchorsIn.clamp(0, context).to(at::kInt).contiguous();
  at::Tensor keep = keepIn.to(at::kByte).contiguous();
  const AttentionShape shape{.batch = anchors.size(0),
                             .heads = 1,
                             .keyHeads = 1,
                             .queries = blocks * blockSize,
                             .keys = context + blocks * blockSize,
                             .headDim = 0,
                             .context = context,
                             .blockSize = blockSize,
                             .window = window,
                             .blocks = blocks,
                             .scale = 1.0f};
  MaskTiles tiles;
  if (runsGpuPrograms(anchors.device())) {
    tiles = buildTilesOnGpu(window > 0 ? MaskKind::kDraftSliding : MaskKind::kDraftFull, shape, anchors, keep);
  } else {
    tiles = buildTiles(window > 0 ? MaskRule::kDraftSliding : MaskRule::kDraftFull, shape,
                       anchors.const_data_ptr<std::int32_t>(), keep.const_data_ptr<std::uint8_t>());
  }
  return {tiles.rowOffsets, tiles.columns, anchors, keep};
}

}  // namespace

void registerBlockMask(torch::Library& library) {
  library.def(
      "draft_mask_tiles(Tensor anchors, Tensor keep, int context, int block_size, int window) -> "
      "(Tensor, Tensor, Tensor, Tensor)");
  library.impl("draft_mask_tiles", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(draftTiles)));
  library.impl("draft_mask_tiles", torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(draftTiles)));
}

BlockMask BlockMask::to(at::Device device) const {
  BlockMask moved = *this;
  for (at::Tensor* t : {&moved.rowOffsets, &moved.columns, &moved.anchors, &moved.keep}) *t = t->to(device);
  return moved;
}

BlockMask makeDraftMask(const at::Tensor& anchors, const at::Tensor& keep, std::int64_t context, std::int64_t blockSize,
                        std::int64_t window) {
  using Build = Four(const at::Tensor&, const at::Tensor&, std::int64_t, std::int64_t, std::int64_t);
  static const auto op = findOperator<Build>("redraft::draft_mask_tiles");
  BlockMask mask;
  std::tie(mask.rowOffsets, mask.columns, mask.anchors, mask.keep) = op.call(anchors, keep, context, blockSize, window);
  mask.kind = window > 0 ? MaskKind::kDraftSliding : MaskKind::kDraftFull;
  mask.batch = anchors.size(0);
  mask.queries = anchors.size(1) * blockSize;
  mask.keys = context + mask.queries;
  mask.context = context;
  mask.blockSize = blockSize;
  mask.window = window;
  mask.queryTile = kQueryTile;
  mask.keyTile = kKeyTile;
  return mask;
}

BlockMask makeCausalMask(std::int64_t batch, std::int64_t queries, std::int64_t keys, at::Device device) {
  require(batch >= 0 && queries >= 0 && keys >= queries && keys < std::numeric_limits<std::int32_t>::max() / 2,
          "makeCausalMask",
          std::to_string(queries) + " queries and " + std::to_string(keys) +
              " keys: there must be at least as many keys as queries");
  const AttentionShape shape{.batch = batch,
                             .heads = 1,
                             .keyHeads = 1,
                             .queries = queries,
                             .keys = keys,
                             .headDim = 0,
                             .context = keys,
                             .blockSize = 1,
                             .window = 0,
                             .blocks = 0,
                             .scale = 1.0f};
  BlockMask mask;
  mask.batch = batch;
  mask.queries = queries;
  mask.keys = mask.context = keys;
  mask.queryTile = kQueryTile;
  mask.keyTile = kKeyTile;
  const bool there = runsGpuPrograms(device);
  const at::TensorOptions options = at::device(there ? device : at::Device(at::kCPU));
  mask.anchors = at::empty({batch, 0}, options.dtype(at::kInt));
  mask.keep = at::empty({batch, 0}, options.dtype(at::kByte));
  const MaskTiles tiles = there ? buildTilesOnGpu(MaskKind::kCausal, shape, mask.anchors, mask.keep)
                                : buildTiles(MaskRule::kCausal, shape, nullptr, nullptr);
  mask.rowOffsets = tiles.rowOffsets;
  mask.columns = tiles.columns;
  return there || device.is_cpu() ? mask : mask.to(device);
}

at::Tensor denseMask(const BlockMask& mask) {
  const auto options = mask.anchors.options().dtype(at::kLong);
  const at::Tensor key = at::arange(mask.keys, options).view({1, 1, -1});
  const at::Tensor query = at::arange(mask.queries, options).view({1, -1, 1});
  if (mask.kind == MaskKind::kCausal) {
    return key.le(query + (mask.keys - mask.queries)).expand({mask.batch, mask.queries, mask.keys}).contiguous();
  }
  const at::Tensor slot = at::arange(mask.blockSize, options).repeat({mask.anchors.size(1)}).view({1, -1, 1});
  const at::Tensor first = query - slot, draft = key - mask.context;
  const at::Tensor anchor = mask.anchors.to(at::kLong).repeat_interleave(mask.blockSize, 1).unsqueeze(2);
  at::Tensor context = key.lt(mask.context).logical_and(key.lt(anchor));
  at::Tensor own = draft.ge(first).logical_and(draft.lt(first + mask.blockSize));
  if (mask.kind == MaskKind::kDraftSliding) {
    context = context.logical_and(key.ge(anchor + slot - (mask.window - 1)));
    own = own.logical_and(draft.le(query));
  }
  const at::Tensor keep = mask.keep.to(at::kBool).repeat_interleave(mask.blockSize, 1).unsqueeze(2);
  return context.logical_or(own).logical_and(keep);
}

}  // namespace redraft::model
