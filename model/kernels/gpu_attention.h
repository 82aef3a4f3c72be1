#pragma once
// The compiler of attention and of its mask for GPUs: what compileAttention is for sim.

#include <memory>
#include <string>

#include "devices/artefact_store.h"
#include "devices/kernel_cache.h"

namespace redraft::model {

/// From an artefact's name ("attention_forward/d64/draft_full/bf16/q64k64", "block_mask/causal/q64k64") to a cubin for
/// `architecture`, out of `store` or compiled by NVRTC and stored. Throws Error(kBadInput) for a specialisation that
/// there is none of on a GPU (bfloat16, head dims 16, 32, 64 and 128), and Error(kEnvironment) where NVRTC is missing.
/// Callable from every thread.
devices::KernelCache::Compiler gpuAttentionCompiler(int architecture, std::shared_ptr<devices::ArtefactStore> store);

}  // namespace redraft::model
