#pragma once
// The DFlash drafter: a small Qwen3 decoder over blocks of [anchor, MASK …], whose keys and values also come from the
// projected context feature. Architecture: SpecForge, specforge/modeling/draft/dflash.py. Training and generation run
// the same layer code; generation keeps the context's keys and values, training makes them once a forward.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/kernels/attention.h"
#include "model/layer.h"

namespace redraft::model {

/// The masks of one forward: layers choose by their type.
struct DraftMasks {
  BlockMask full;     // made where some layer has full attention
  BlockMask sliding;  // made where some layer slides

  const BlockMask& of(bool slidingLayer) const { return slidingLayer ? sliding : full; }
};

/// anchors int64 [B, N], keep bool [B, N]. Built on the device that the instrument answers for the anchors' device.
DraftMasks makeDraftMasks(const DrafterConfig& config, const at::Tensor& anchors, const at::Tensor& keep,
                          std::int64_t context);

/// Places in drafterParameters(config), in the order in which backward makes their gradients: from the last layer to
/// the first, then what the context takes part in, whose forward was before all layers'.
std::vector<std::size_t> backwardOrder(const DrafterConfig& config);

class Drafter {
 public:
  /// Parameters in the order of drafterParameters(config), on one device, of one dtype, not copied. They become leaves
  /// that require gradients.
  Drafter(DrafterConfig config, std::vector<at::Tensor> parameters);
  /// A folder with config.json and tensors.
  static Drafter load(const std::string& folder, at::ScalarType dtype, at::Device device);

  /// C = RMSNorm(W_fc · feature): [B, S, K · H] -> [B, S, H].
  at::Tensor projectContext(const at::Tensor& contextFeature) const;
  /// What one layer attends to of the projected context. It is not passed through the layer's input norm.
  KeyValue contextKeyValue(std::int64_t layer, const at::Tensor& projected, const Rope& rope) const;
  /// noise [B, Q, H]: embedded block ids, Q = N · b; `context`: one entry a layer; rope of the blocks' positions.
  /// Returns [B, Q, H] after the final norm: rows of a dropped block hold what its residual path gives, and are never
  /// read.
  at::Tensor forward(const at::Tensor& noise, const std::vector<KeyValue>& context, const Rope& rope,
                     const DraftMasks& masks) const;
  /// The training forward: contexts of all layers from the feature [B, S, K · H], then forward(). positions int64 [B,
  /// Q].
  at::Tensor forward(const at::Tensor& contextFeature, const at::Tensor& noise, const at::Tensor& positions,
                     const DraftMasks& masks) const;

  const DrafterConfig& config() const { return config_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  at::Device device() const { return parameters_.front().device(); }

 private:
  DrafterConfig config_;
  std::vector<at::Tensor> parameters_;
  std::vector<LayerWeights> layers_;
};

}  // namespace redraft::model
