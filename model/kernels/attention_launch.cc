#include "model/kernels/attention_launch.h"

#include "model/kernels/cuda/gpu_sources.h"

namespace redraft::model {
namespace {

/// On simulated devices a launch is one call of the CPU's kernel, which goes over all tiles itself; the grid says what
/// CUDA would be asked for.
devices::LaunchShape hostShape(const AttentionArtefact& artefact, const AttentionShape& shape) {
  devices::LaunchShape launch;
  launch.grid[0] = artefact.backward ? 1 : static_cast<unsigned>(tileCount(shape.queries, artefact.queryTile));
  launch.grid[1] = static_cast<unsigned>(artefact.backward ? shape.keyHeads : shape.heads);
  launch.grid[2] = static_cast<unsigned>(shape.batch);
  return launch;
}

}  // namespace

void readMask(KernelCall& call, const BlockMask& mask) {
  call.read("block_mask.row_offsets", mask.rowOffsets);
  call.read("block_mask.columns", mask.columns);
  call.read("block_mask.anchors", mask.anchors);
  call.read("block_mask.keep", mask.keep);
}

void launchAttention(KernelCall& call, const AttentionArtefact& artefact, const at::Tensor& q,
                     const AttentionShape& shape) {
  if (q.is_cpu()) {
    artefact.kernel()(call.params());
    return;
  }
  const std::string name = artefact.name();
  if (!runsGpuPrograms(q.device())) {
    call.launch(q, "q", name, artefact.entry(), hostShape(artefact, shape));
    return;
  }
  const auto program = artefact.backward ? gpu::Program::kAttentionBackward : gpu::Program::kAttentionForward;
  for (const gpu::Launch& launch : gpu::launches(program, shape)) {
    call.launch(q, "q", name, launch.entry, launch.shape);
  }
}

}  // namespace redraft::model
