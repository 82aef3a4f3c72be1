#include "model/kernels/gpu_attention.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "model/kernels/attention_artefact.h"
#include "model/kernels/cuda/gpu_sources.h"

namespace redraft::model {
namespace {

void requireOnGpu(const std::string& name, const AttentionArtefact& artefact) {
  const bool known =
      std::find(std::begin(gpu::kHeadDims), std::end(gpu::kHeadDims), artefact.headDim) != std::end(gpu::kHeadDims);
  if (known && artefact.bfloat16) return;
  throwBadInput("artefact " + name, "attention on a GPU is bfloat16, of head dim 16, 32, 64 or 128",
                "train in bfloat16, or with kernel_cache.compiled false: the dense reference takes every type");
}

devices::GpuSource sourceOf(const std::string& name) {
  if (const auto kind = blockMaskKind(name)) return gpu::gpuSource(gpu::Program::kBlockMask, 0, maskRule(*kind));
  const AttentionArtefact artefact = parseAttentionArtefact(name);
  requireOnGpu(name, artefact);
  return gpu::gpuSource(artefact.backward ? gpu::Program::kAttentionBackward : gpu::Program::kAttentionForward,
                        static_cast<int>(artefact.headDim), maskRule(artefact.kind));
}

}  // namespace

devices::KernelCache::Compiler gpuAttentionCompiler(int architecture, std::shared_ptr<devices::ArtefactStore> store) {
  return [architecture, store = std::move(store)](const std::string& name) {
    const devices::GpuSource source = sourceOf(name);  // what is refused is refused without a compiler too
    devices::Image image;
    image.name = name;
    image.cubin = devices::Nvrtc::open().compiledFrom(*store, source, architecture);
    return image;
  };
}

}  // namespace redraft::model
