#include "model/drafter.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "model/checkpoint.h"
#include "model/device_copy.h"
#include "model/instrument.h"
#include "model/kernels/ops.h"
#include "model/module_scope.h"
#include "model/role.h"
#include "model/target.h"

namespace redraft::model {

namespace {

// Places in the parameter list; the layers follow.
constexpr std::size_t kFc = 0;
constexpr std::size_t kHiddenNorm = 1;
constexpr std::size_t kFinalNorm = 2;
constexpr std::size_t kFirstLayer = 3;

// Places within a layer.
constexpr std::size_t kOfBlocks[] = {8, 6, 7, 10, 3, 4, 0, 9};  // down, gate, up, post norm, o, q norm, q, input norm
constexpr std::size_t kOfContext[] = {2, 5, 1};                 // v, k norm, k
static_assert(std::size(kOfBlocks) + std::size(kOfContext) == kTensorsPerLayer);

at::Device maskDevice(at::Device tensorDevice) {
  if (!tensorDevice.has_index()) return tensorDevice;
  const int index = instrument().blockMaskDevice(tensorDevice.index());
  return {tensorDevice.type(), static_cast<c10::DeviceIndex>(index)};
}

}  // namespace

DraftMasks makeDraftMasks(const DrafterConfig& config, const at::Tensor& anchors, const at::Tensor& keep,
                          std::int64_t context) {
  const PhaseScope phase(devices::Phase::kMaskBuild);
  const ModuleScope module("mask");
  const at::Device device = maskDevice(anchors.device());
  const at::Tensor where = copyTo(anchors, device);
  const at::Tensor kept = copyTo(keep, device);
  const auto& sliding = config.slidingLayers;
  DraftMasks masks;
  if (std::find(sliding.begin(), sliding.end(), false) != sliding.end())
    masks.full = makeDraftMask(where, kept, context, config.blockSize, 0);
  if (config.anySliding()) masks.sliding = makeDraftMask(where, kept, context, config.blockSize, config.slidingWindow);
  orderAfter(device, anchors.device());
  return masks;
}

std::vector<std::size_t> backwardOrder(const DrafterConfig& config) {
  std::vector<std::size_t> order = {kFinalNorm};
  const auto addLayers = [&](const auto& places) {
    for (std::int64_t layer = config.layers; layer-- > 0;) {
      const std::size_t first = kFirstLayer + static_cast<std::size_t>(layer) * kTensorsPerLayer;
      for (const std::size_t place : places) order.push_back(first + place);
    }
  };
  addLayers(kOfBlocks);
  addLayers(kOfContext);
  order.push_back(kHiddenNorm);
  order.push_back(kFc);
  return order;
}

Drafter::Drafter(DrafterConfig config, std::vector<at::Tensor> parameters)
    : config_(std::move(config)), parameters_(std::move(parameters)) {
  REDRAFT_CHECK(parameters_.size() == drafterParameters(config_).size(), "as many tensors as the drafter has");
  for (at::Tensor& parameter : parameters_) parameter.requires_grad_(true);
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const std::size_t first = kFirstLayer + static_cast<std::size_t>(i) * kTensorsPerLayer;
    layers_.push_back(LayerWeights::from(parameters_, first));
  }
}

Drafter Drafter::load(const std::string& folder, at::ScalarType dtype, at::Device device) {
  DrafterConfig config = loadDrafterConfig(joinPath(folder, "config.json"));
  std::vector<at::Tensor> parameters =
      loadParameters(TensorSource::open(folder), drafterParameters(config), dtype, device);
  return Drafter(std::move(config), std::move(parameters));
}

at::Tensor Drafter::projectContext(const at::Tensor& contextFeature) const {
  return rmsNorm(model::linear(contextFeature, parameters_[kFc]), parameters_[kHiddenNorm], config_.rmsNormEps);
}

KeyValue Drafter::contextKeyValue(std::int64_t layer, const at::Tensor& projected, const Rope& rope) const {
  const ModuleScope module("layers", layer);
  return keyValueHeads(projected, layers_.at(static_cast<std::size_t>(layer)), config_, rope);
}

at::Tensor Drafter::forward(const at::Tensor& noise, const std::vector<KeyValue>& context, const Rope& rope,
                            const DraftMasks& masks) const {
  REDRAFT_CHECK(context.size() == layers_.size(), "one context a layer");
  at::Tensor x = noise;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const ModuleScope module("layers", static_cast<std::int64_t>(i));
    const at::Tensor normed = rmsNorm(x, layers_[i].inputNorm, config_.rmsNormEps);
    const at::Tensor query = queryHeads(normed, layers_[i], config_, rope);
    const KeyValue own = keyValueHeads(normed, layers_[i], config_, rope);
    const KeyValue all = {at::cat({context[i].key, own.key}, 2), at::cat({context[i].value, own.value}, 2)};
    x = attendAndFeedForward(x, query, all, masks.of(config_.slidingLayers[i]), layers_[i], config_);
  }
  return rmsNorm(x, parameters_[kFinalNorm], config_.rmsNormEps);
}

at::Tensor Drafter::forward(const at::Tensor& contextFeature, const at::Tensor& noise, const at::Tensor& positions,
                            const DraftMasks& masks) const {
  const at::Tensor projected = projectContext(contextFeature);
  const at::Tensor before =
      consecutivePositions(contextFeature.size(0), 0, contextFeature.size(1), contextFeature.device());
  const Rope contextRope = Rope::forPositions(before, config_);
  std::vector<KeyValue> context;
  for (std::int64_t i = 0; i < config_.layers; ++i) context.push_back(contextKeyValue(i, projected, contextRope));
  return forward(noise, context, Rope::forPositions(positions, config_), masks);
}

}  // namespace redraft::model
