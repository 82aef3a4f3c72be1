#include "model/kernels/block_mask_gpu.h"

#include <ATen/ATen.h>

#include <limits>
#include <string>

#include "model/kernels/attention_artefact.h"
#include "model/kernels/cuda/gpu_sources.h"
#include "model/kernels/kernel_call.h"
#include "model/kernels/registry.h"

namespace redraft::model {

MaskTiles buildTilesOnGpu(MaskKind kind, AttentionShape shape, const at::Tensor& anchors, const at::Tensor& keep) {
  const std::string artefact = blockMaskArtefact(kind);
  const std::int64_t rows = shape.batch * tileCount(shape.queries, kQueryTile),
                     room = rows * tileCount(shape.keys, kKeyTile);
  require(room <= std::numeric_limits<std::int32_t>::max(), artefact.c_str(),
          std::to_string(room) + " tiles in " + std::to_string(rows) +
              " rows are too many for int32: " + "a smaller batch or fewer blocks");
  const auto ints = anchors.options().dtype(at::kInt);
  if (rows == 0) return {at::zeros({1}, ints), at::empty({0}, ints)};
  const at::Tensor counts = at::empty({rows}, ints);
  MaskTiles tiles{at::empty({rows + 1}, ints), at::empty({room}, ints)};
  const auto plan = gpu::launches(gpu::Program::kBlockMask, shape);
  KernelCall count, fill;
  for (KernelCall* call : {&count, &fill}) {
    call->read("block_mask.anchors", anchors);
    call->read("block_mask.keep", keep);
  }
  count.write("block_mask.counts", counts);
  count.value(&shape);
  count.launch(anchors, "anchors", artefact, plan.at(0).entry, plan.at(0).shape);
  fill.read("block_mask.counts", counts);
  fill.write("block_mask.row_offsets", tiles.rowOffsets);
  fill.write("block_mask.columns", tiles.columns);
  fill.value(&shape);
  fill.launch(anchors, "anchors", artefact, plan.at(1).entry, plan.at(1).shape);
  return tiles;
}

}  // namespace redraft::model
