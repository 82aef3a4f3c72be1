#include <ATen/ATen.h>

#include "model/kernels/attention.h"
#include "model/kernels/cuda/block_mask.cuh"
#include "model/kernels/cuda/gpu_sources.h"
#include "tests/model/kernels/gpu_emulator.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

AttentionShape shapeOf(const BlockMask& mask) {
  AttentionShape shape{};
  shape.batch = mask.batch;
  shape.queries = mask.queries;
  shape.keys = mask.keys;
  shape.context = mask.context;
  shape.blockSize = mask.blockSize;
  shape.window = mask.window;
  shape.blocks = mask.anchors.size(1);
  return shape;
}

/// What the GPU's two kernels make of the mask's anchors: row offsets, and the columns that they say are there.
std::pair<at::Tensor, at::Tensor> buildOnGpu(const BlockMask& mask, ThreadOrder order) {
  const AttentionShape shape = shapeOf(mask);
  const auto rule = static_cast<MaskRule>(mask.kind);
  const std::int64_t rows = mask.batch * tileCount(mask.queries, kQueryTile);
  at::Tensor counts = at::full({rows}, -1, at::kInt), offsets = at::full({rows + 1}, -1, at::kInt);
  at::Tensor columns = at::full({rows * tileCount(mask.keys, kKeyTile)}, -1, at::kInt);
  const auto* anchors = mask.anchors.const_data_ptr<std::int32_t>();
  const auto* keep = mask.keep.const_data_ptr<std::uint8_t>();
  const auto plan = gpu::launches(gpu::Program::kBlockMask, shape);
  emulateLaunch(plan.at(0).shape, order,
                [&] { gpu::blockMaskCount(rule, anchors, keep, counts.mutable_data_ptr<std::int32_t>(), shape); });
  emulateLaunch(plan.at(1).shape, order, [&] {
    gpu::blockMaskFill(rule, anchors, keep, counts.const_data_ptr<std::int32_t>(),
                       offsets.mutable_data_ptr<std::int32_t>(),
                       reinterpret_cast<std::uint32_t*>(columns.mutable_data_ptr<std::int32_t>()), shape);
  });
  return {offsets, columns.narrow(0, 0, offsets[rows].item<std::int32_t>())};
}

void expectTheCpusMask(const BlockMask& mask) {
  for (const ThreadOrder order : {ThreadOrder::kAscending, ThreadOrder::kDescending}) {
    const auto [offsets, columns] = buildOnGpu(mask, order);
    EXPECT_TRUE(sameBits(offsets, mask.rowOffsets));
    EXPECT_TRUE(sameBits(columns, mask.columns));
  }
}

TEST(GpuMaskTest, DraftMasksAreTheCpusElementForElement) {
  struct Draft {
    std::int64_t batch, blocks, blockSize, context, window;
  };
  for (const Draft& c :
       {Draft{2, 9, 16, 100, 0}, Draft{1, 20, 7, 300, 0}, Draft{2, 9, 16, 200, 5}, Draft{1, 70, 1, 130, 3},
        Draft{1, 3, 64, 640, 200}, Draft{1, 2, 100, 64, 0}, Draft{3, 1, 4, 0, 0}, Draft{1, 40, 16, 10000, 4096}}) {
    SCOPED_TRACE(::testing::Message() << "B" << c.batch << " N" << c.blocks << " b" << c.blockSize << " S" << c.context
                                      << " W" << c.window);
    const at::Tensor anchors = integers({c.batch, c.blocks}, c.context + 1, 5);
    const at::Tensor keep = integers({c.batch, c.blocks}, 5, 6).ne(0);
    expectTheCpusMask(makeDraftMask(anchors, keep, c.context, c.blockSize, c.window));
    expectTheCpusMask(makeDraftMask(anchors, at::zeros_like(keep), c.context, c.blockSize, c.window));
  }
}

TEST(GpuMaskTest, CausalMasksAreTheCpusElementForElement) {
  expectTheCpusMask(makeCausalMask(2, 150, 150, at::kCPU));
  expectTheCpusMask(makeCausalMask(1, 1, 9000, at::kCPU));
  expectTheCpusMask(makeCausalMask(1, 64, 128, at::kCPU));
}

}  // namespace
}  // namespace redraft::model::testing
