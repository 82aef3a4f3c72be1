#pragma once
// The target model: plain Qwen3, causal, no padding mask (rows are padded on the right). Its embedding and head are
// what the drafter borrows. All parameters on one device, of one dtype. Forward is const and may run on several threads
// at once; it is differentiable where parameters require gradients (pretraining), and builds no graph where none does.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/layer.h"

namespace redraft::model {

/// The target's frozen tables; the drafter has none of its own.
struct TargetHead {
  at::Tensor embedding;  // [V, H]
  at::Tensor output;     // [V, H]; the same tensor where the target is tied

  at::Tensor embed(const at::Tensor& ids) const;      // int64 [B, T] -> [B, T, H]
  at::Tensor logits(const at::Tensor& hidden) const;  // [..., H] -> [..., V]
  TargetHead to(at::Device device) const;
};

/// Keys and values of the tokens seen so far, of one sequence. Grows by whole forwards, shrinks by crop().
class KeyValueCache {
 public:
  /// Room for `capacity` tokens in each of `layers` layers, allocated at the first append.
  KeyValueCache(std::int64_t layers, std::int64_t capacity);

  std::int64_t length() const { return length_; }
  /// Writes [1, h, T, d] behind the first length() tokens of a layer; returns everything of that layer so far.
  KeyValue append(std::int64_t layer, const KeyValue& more);
  /// The first length() tokens of a layer.
  KeyValue get(std::int64_t layer) const;
  /// Makes what was appended to every layer part of the cache.
  void advance(std::int64_t tokens);
  /// Forgets all but the first `length` tokens.
  void crop(std::int64_t length);

 private:
  std::int64_t capacity_;
  std::int64_t length_ = 0;
  std::vector<KeyValue> layers_;
};

class Target {
 public:
  /// Parameters in the order of targetParameters(config), not copied.
  Target(const TargetConfig& config, std::vector<at::Tensor> parameters);
  /// A folder with config.json and tensors.
  static Target load(const std::string& folder, at::ScalarType dtype, at::Device device);

  struct Output {
    at::Tensor contextFeature;  // [B, T, K · H]: the states after the chosen layers, side by side
    at::Tensor hidden;          // [B, T, H]: after the final norm; what logits are made of
  };
  /// ids int64 [B, T]. The state after layer l is its raw output, but for the last layer the state after the final norm
  /// (as Hugging Face's hidden_states). With a cache (B = 1), ids continue what it holds, and are added to it.
  Output forward(const at::Tensor& ids, const std::vector<std::int64_t>& layerIds,
                 KeyValueCache* cache = nullptr) const;
  /// The context feature alone: layers above the highest chosen one do not run.
  at::Tensor contextFeature(const at::Tensor& ids, const std::vector<std::int64_t>& layerIds) const;

  const TargetConfig& config() const { return config_; }
  const TargetHead& head() const { return head_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  at::Device device() const { return head_.embedding.device(); }

 private:
  /// States after layers 0 .. upTo, the last layer's after the final norm, kept where `keep` says so.
  std::vector<at::Tensor> run(const at::Tensor& ids, std::int64_t upTo, const std::vector<bool>& keep,
                              KeyValueCache* cache) const;

  TargetConfig config_;
  std::vector<at::Tensor> parameters_;
  TargetHead head_;
  std::vector<LayerWeights> layers_;
  at::Tensor norm_;
};

/// int64 [B, T] holding start .. start + T - 1 in every row.
at::Tensor consecutivePositions(std::int64_t batch, std::int64_t start, std::int64_t count, at::Device device);

}  // namespace redraft::model
