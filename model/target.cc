#include "model/target.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "model/checkpoint.h"
#include "model/kernels/ops.h"
#include "model/module_scope.h"

namespace redraft::model {

at::Tensor TargetHead::embed(const at::Tensor& ids) const {
  const ModuleScope module("embed_tokens");
  return at::embedding(embedding, ids);
}

at::Tensor TargetHead::logits(const at::Tensor& hidden) const {
  const ModuleScope module("lm_head");
  return model::linear(hidden, output);
}

TargetHead TargetHead::to(at::Device device) const {
  const at::Tensor moved = embedding.to(device);
  return {moved, output.is_same(embedding) ? moved : output.to(device)};
}

KeyValueCache::KeyValueCache(std::int64_t layers, std::int64_t capacity)
    : capacity_(capacity), layers_(static_cast<std::size_t>(layers)) {}

KeyValue KeyValueCache::append(std::int64_t layer, const KeyValue& more) {
  KeyValue& held = layers_.at(static_cast<std::size_t>(layer));
  const std::int64_t count = more.key.size(2);
  REDRAFT_CHECK(more.key.size(0) == 1 && length_ + count <= capacity_,
                "a cache holds one sequence, up to its capacity");
  if (!held.key.defined()) {
    const std::vector<std::int64_t> shape = {1, more.key.size(1), capacity_, more.key.size(3)};
    held = {at::empty(shape, more.key.options()), at::empty(shape, more.value.options())};
  }
  held.key.narrow(2, length_, count).copy_(more.key);
  held.value.narrow(2, length_, count).copy_(more.value);
  return {held.key.narrow(2, 0, length_ + count), held.value.narrow(2, 0, length_ + count)};
}

KeyValue KeyValueCache::get(std::int64_t layer) const {
  const KeyValue& held = layers_.at(static_cast<std::size_t>(layer));
  return {held.key.narrow(2, 0, length_), held.value.narrow(2, 0, length_)};
}

void KeyValueCache::advance(std::int64_t tokens) { length_ += tokens; }

void KeyValueCache::crop(std::int64_t length) {
  REDRAFT_CHECK(0 <= length && length <= length_, "a crop only shortens");
  length_ = length;
}

Target::Target(const TargetConfig& config, std::vector<at::Tensor> parameters)
    : config_(config), parameters_(std::move(parameters)) {
  REDRAFT_CHECK(parameters_.size() == targetParameters(config_).size(), "as many tensors as the target has");
  head_.embedding = parameters_.front();
  std::size_t next = 1;
  for (std::int64_t i = 0; i < config_.layers; ++i, next += kTensorsPerLayer)
    layers_.push_back(LayerWeights::from(parameters_, next));
  norm_ = parameters_.at(next);
  head_.output = config_.tieWordEmbeddings ? head_.embedding : parameters_.at(next + 1);
}

Target Target::load(const std::string& folder, at::ScalarType dtype, at::Device device) {
  const TargetConfig config = loadTargetConfig(joinPath(folder, "config.json"));
  std::vector<at::Tensor> parameters = loadTargetParameters(TensorSource::open(folder), config, dtype, device);
  return Target(config, std::move(parameters));
}

std::vector<at::Tensor> Target::run(const at::Tensor& ids, std::int64_t upTo, const std::vector<bool>& keep,
                                    KeyValueCache* cache) const {
  const std::int64_t batch = ids.size(0);
  const std::int64_t count = ids.size(1);
  const std::int64_t start = cache != nullptr ? cache->length() : 0;
  const Rope rope = Rope::forPositions(consecutivePositions(batch, start, count, ids.device()), config_);
  const BlockMask mask = makeCausalMask(batch, count, start + count, ids.device());
  at::Tensor x = head_.embed(ids);
  std::vector<at::Tensor> states(static_cast<std::size_t>(upTo) + 1);
  for (std::int64_t i = 0; i <= upTo; ++i) {
    const ModuleScope module("layers", i);
    const auto layer = static_cast<std::size_t>(i);
    const LayerWeights& weights = layers_[layer];
    const at::Tensor normed = rmsNorm(x, weights.inputNorm, config_.rmsNormEps);
    const at::Tensor query = queryHeads(normed, weights, config_, rope);
    KeyValue keyValue = keyValueHeads(normed, weights, config_, rope);
    if (cache != nullptr) keyValue = cache->append(i, keyValue);
    x = attendAndFeedForward(x, query, keyValue, mask, weights, config_);
    if (i + 1 == config_.layers) x = rmsNorm(x, norm_, config_.rmsNormEps);
    if (keep[layer]) states[layer] = x;
  }
  if (cache != nullptr) cache->advance(count);
  return states;
}

namespace {

std::vector<bool> chosen(const std::vector<std::int64_t>& layerIds, std::int64_t layers) {
  std::vector<bool> keep(static_cast<std::size_t>(layers), false);
  for (const std::int64_t id : layerIds) keep.at(static_cast<std::size_t>(id)) = true;
  return keep;
}

at::Tensor sideBySide(const std::vector<at::Tensor>& states, const std::vector<std::int64_t>& layerIds) {
  std::vector<at::Tensor> parts;
  for (const std::int64_t id : layerIds) parts.push_back(states[static_cast<std::size_t>(id)]);
  return parts.size() == 1 ? parts.front() : at::cat(parts, -1);
}

}  // namespace

Target::Output Target::forward(const at::Tensor& ids, const std::vector<std::int64_t>& layerIds,
                               KeyValueCache* cache) const {
  std::vector<bool> keep = chosen(layerIds, config_.layers);
  keep.back() = true;
  const std::vector<at::Tensor> states = run(ids, config_.layers - 1, keep, cache);
  return {layerIds.empty() ? at::Tensor() : sideBySide(states, layerIds), states.back()};
}

at::Tensor Target::contextFeature(const at::Tensor& ids, const std::vector<std::int64_t>& layerIds) const {
  REDRAFT_CHECK(!layerIds.empty(), "a context feature is of at least one layer");
  const std::int64_t highest = *std::max_element(layerIds.begin(), layerIds.end());
  return sideBySide(run(ids, highest, chosen(layerIds, config_.layers), nullptr), layerIds);
}

at::Tensor consecutivePositions(std::int64_t batch, std::int64_t start, std::int64_t count, at::Device device) {
  return at::arange(start, start + count, at::TensorOptions().dtype(at::kLong).device(device)).expand({batch, count});
}

}  // namespace redraft::model
