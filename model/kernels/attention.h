#pragma once
// Block-sparse attention: the compiled kernel of this project. Specialised by (head dim, mask kind, dtype, block
// sizes), compiled through devices::KernelCache, launched through devices::Driver on sim and on CUDA; called directly
// on CPU tensors.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace redraft::devices {
class KernelCache;
struct Image;
}  // namespace redraft::devices

namespace redraft::model {

enum class MaskKind : std::uint8_t {
  kCausal,        // query i of Q sees keys kv ≤ (KV - Q) + i
  kDraftFull,     // context strictly before the anchor, and the whole own block
  kDraftSliding,  // context in [a+o-(W-1), a), and the own block up to slot o
};

/// A mask as structure, never dense: per tile of queries a list of key tiles in CSR form, each full or partial, plus
/// what decides a partial tile (anchors, keep). All tensors on one device. Formula: docs/architecture.md, "Block mask";
/// SpecForge's dflash_family_model (training attention mask).
struct BlockMask {
  MaskKind kind = MaskKind::kCausal;
  std::int64_t batch = 0, queries = 0, keys = 0;
  std::int64_t context = 0;    // S; keys ≥ S are draft keys (draft kinds)
  std::int64_t blockSize = 1;  // b (draft kinds)
  std::int64_t window = 0;     // W (kDraftSliding)
  std::int64_t queryTile = 0, keyTile = 0;
  at::Tensor rowOffsets;  // int32 [batch · query tiles + 1]
  at::Tensor columns;     // int32 [nnz or more]: key tile; ascending within a row; bit 31 set: partial
  at::Tensor anchors;     // int32 [batch, N]
  at::Tensor keep;        // uint8 [batch, N]

  BlockMask to(at::Device device) const;
};

/// anchors int64 [B, N], keep bool [B, N], on the device where the mask is to live. On CUDA it is built there, by two
/// kernels on the current stream, and nobody waits for it: `columns` then has room for every tile, and what lies beyond
/// the last row's end is not written.
BlockMask makeDraftMask(const at::Tensor& anchors, const at::Tensor& keep, std::int64_t context, std::int64_t blockSize,
                        std::int64_t window /* 0: full */);
BlockMask makeCausalMask(std::int64_t batch, std::int64_t queries, std::int64_t keys, at::Device device);

/// The same mask dense, bool [B, Q, KV]; for tests and the reference path.
at::Tensor denseMask(const BlockMask& mask);

/// softmax(q kᵀ · scale + mask) v. q [B, Hq, Q, d], k and v [B, Hkv, KV, d], Hq a multiple of Hkv; query head i reads
/// key head i / (Hq / Hkv). Rows with nothing visible give 0. Output [B, Hq, Q, d]. Differentiable in q, k, v; memory
/// linear in Q + KV. float32 and bfloat16; on CUDA the kernel takes bfloat16 alone, so float32 q, k, v and the output's
/// gradient are rounded to it, and the results have its precision (docs/kernels.md, "On a GPU").
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                     double scale);

/// The dense reference of the same (plain ATen, quadratic memory): tests, and runs with compile disabled.
at::Tensor attentionDense(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const BlockMask& mask,
                          double scale);

/// Which of the two `attention` uses; set before the workers start. Default compiled.
void setCompiledAttention(bool compiled);

/// The compiler for that cache: an artefact's name, "attention_forward/d64/draft_full/f32/q64k64", to its image.
/// Error(kBadInput) for a name that is none.
devices::Image compileAttention(const std::string& artefact);

/// What a cache's compiler makes: the CPU's kernels (compileAttention), which the simulator runs, or the GPU's programs
/// (gpuAttentionCompiler), which take other launches.
enum class KernelCode : std::uint8_t { kHost, kGpu };

/// The cache that attention and masks on devices go through; not owned; set before the workers start. Tensors on the
/// CPU need none. Without `code` it is what the cache's driver runs.
void setKernelCache(devices::KernelCache* cache);
void setKernelCache(devices::KernelCache* cache, KernelCode code);

}  // namespace redraft::model
