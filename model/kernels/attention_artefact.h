#pragma once
// Names of the compiled attention's specialisations, and what they compile to:
//   attention_{forward,backward}/d<head dim>/{causal,draft_full,draft_sliding}/{f32,bf16}/q<query tile>k<key tile>
// and of the block mask's, on a GPU: block_mask/{causal,draft_full,draft_sliding}/q<query tile>k<key tile>

#include <cstdint>
#include <optional>
#include <string>

#include "model/kernels/attention.h"
#include "model/kernels/simd/attention_kernel.h"

namespace redraft::model {

struct AttentionArtefact {
  bool backward = false;
  std::int64_t headDim = 0;
  MaskKind kind = MaskKind::kCausal;
  bool bfloat16 = false;
  std::int64_t queryTile = kQueryTile, keyTile = kKeyTile;

  const char* entry() const { return backward ? "attention_backward" : "attention_forward"; }
  std::string name() const;
  simd::Kernel kernel() const;
};

/// Error(kBadInput) naming the part that is wrong and what may stand there.
AttentionArtefact parseAttentionArtefact(const std::string& name);

std::string blockMaskArtefact(MaskKind kind);
/// Whose mask `name` is, or nothing when it is none's.
std::optional<MaskKind> blockMaskKind(const std::string& name);

MaskRule maskRule(MaskKind kind);

}  // namespace redraft::model
