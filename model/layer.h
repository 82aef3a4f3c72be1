#pragma once
// The parts that target and drafter share: one Qwen3 decoder layer's weights and its steps. Shapes: x [B, T, H]; heads
// [B, h, T, d]. Everything is differentiable and runs on whatever device its tensors are on.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/kernels/attention.h"

namespace redraft::model {

struct LayerWeights {
  at::Tensor query, key, value, output, queryNorm, keyNorm, gate, up, down, inputNorm, postNorm;

  /// The 11 tensors from `first` on, in checkpoint order (model/checkpoint.h).
  static LayerWeights from(const std::vector<at::Tensor>& parameters, std::size_t first);
};
constexpr std::size_t kTensorsPerLayer = 11;

/// cos and sin, each [B, T, d/2].
struct Rope {
  at::Tensor cos, sin;

  static Rope forPositions(const at::Tensor& positions, const DecoderConfig& config);  // positions int64 [B, T]
};

struct KeyValue {
  at::Tensor key, value;  // [B, key/value heads, T, d]; keys normed and rotated
};

/// RoPE(RMSNorm_d(W_q x)).
at::Tensor queryHeads(const at::Tensor& x, const LayerWeights& weights, const DecoderConfig& config, const Rope& rope);
/// RoPE(RMSNorm_d(W_k x)) and W_v x.
KeyValue keyValueHeads(const at::Tensor& x, const LayerWeights& weights, const DecoderConfig& config, const Rope& rope);

/// x + W_o softmax(q kᵀ / √d + mask) v, then the gated MLP with its residual.
at::Tensor attendAndFeedForward(const at::Tensor& x, const at::Tensor& query, const KeyValue& keyValue,
                                const BlockMask& mask, const LayerWeights& weights, const DecoderConfig& config);

}  // namespace redraft::model
