#include "model/layer.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/error.h"
#include "model/kernels/ops.h"
#include "model/module_scope.h"

namespace redraft::model {

namespace {

/// [B, T, h · d] as [B, T, h, d].
at::Tensor splitHeads(const at::Tensor& x, std::int64_t headDim) {
  return x.view({x.size(0), x.size(1), x.size(2) / headDim, headDim});
}

}  // namespace

LayerWeights LayerWeights::from(const std::vector<at::Tensor>& parameters, std::size_t first) {
  REDRAFT_CHECK(first + kTensorsPerLayer <= parameters.size(), "a whole layer lies in the list");
  const at::Tensor* p = parameters.data() + first;
  return {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10]};
}

Rope Rope::forPositions(const at::Tensor& positions, const DecoderConfig& config) {
  auto [cos, sin] = ropeTable(positions, config.headDim, config.ropeTheta);
  return {cos, sin};
}

at::Tensor queryHeads(const at::Tensor& x, const LayerWeights& weights, const DecoderConfig& config, const Rope& rope) {
  const ModuleScope module("self_attn");
  const at::Tensor heads = splitHeads(model::linear(x, weights.query), config.headDim);
  return applyRope(rmsNorm(heads, weights.queryNorm, config.rmsNormEps).transpose(1, 2), rope.cos, rope.sin);
}

KeyValue keyValueHeads(const at::Tensor& x, const LayerWeights& weights, const DecoderConfig& config,
                       const Rope& rope) {
  const ModuleScope module("self_attn");
  const at::Tensor heads = splitHeads(model::linear(x, weights.key), config.headDim);
  return {applyRope(rmsNorm(heads, weights.keyNorm, config.rmsNormEps).transpose(1, 2), rope.cos, rope.sin),
          splitHeads(model::linear(x, weights.value), config.headDim).transpose(1, 2)};
}

namespace {

/// x + W_o softmax(q kᵀ / √d + mask) v.
at::Tensor attend(const at::Tensor& x, const at::Tensor& query, const KeyValue& keyValue, const BlockMask& mask,
                  const LayerWeights& weights, const DecoderConfig& config) {
  const ModuleScope module("self_attn");
  const double scale = 1.0 / std::sqrt(static_cast<double>(config.headDim));
  const at::Tensor mixed = attention(query, keyValue.key, keyValue.value, mask, scale);
  const at::Tensor joined = mixed.transpose(1, 2).reshape({x.size(0), x.size(1), config.heads * config.headDim});
  return x + model::linear(joined, weights.output);
}

}  // namespace

at::Tensor attendAndFeedForward(const at::Tensor& x, const at::Tensor& query, const KeyValue& keyValue,
                                const BlockMask& mask, const LayerWeights& weights, const DecoderConfig& config) {
  const at::Tensor attended = attend(x, query, keyValue, mask, weights, config);
  const ModuleScope module("mlp");
  const at::Tensor u = rmsNorm(attended, weights.postNorm, config.rmsNormEps);
  return attended + model::linear(siluMul(model::linear(u, weights.gate), model::linear(u, weights.up)), weights.down);
}

}  // namespace redraft::model
