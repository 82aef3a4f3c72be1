#pragma once
// Small random models and data for the stack's tests.

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "model/blocks.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/drafter.h"
#include "model/target.h"

namespace redraft::model::tiny {

inline constexpr double kUnit = 0x1p-24;  // float32: largest relative rounding error

inline void setDecoder(DecoderConfig& config) {
  config.hiddenSize = 24;
  config.heads = 4;
  config.keyValueHeads = 2;
  config.headDim = 8;
  config.intermediateSize = 40;
  config.vocabSize = 67;
  config.rmsNormEps = 1e-6;
  config.ropeTheta = 1e4;
}

inline TargetConfig targetConfig(bool tied = false) {
  TargetConfig config;
  setDecoder(config);
  config.layers = 4;
  config.tieWordEmbeddings = tied;
  return config;
}

/// One full layer and one sliding layer (window 6), block of 5, capturing a middle and the last layer of
/// targetConfig().
inline DrafterConfig drafterConfig() {
  DrafterConfig config;
  setDecoder(config);
  config.layers = 2;
  config.targetLayers = 4;
  config.blockSize = 5;
  config.maskTokenId = 66;
  config.targetLayerIds = {1, 3};
  config.slidingLayers = {false, true};
  config.slidingWindow = 6;
  return config;
}

inline std::vector<at::Tensor> converted(std::vector<at::Tensor> tensors, at::ScalarType dtype) {
  for (at::Tensor& tensor : tensors) tensor = tensor.to(dtype);
  return tensors;
}

inline Target target(std::uint64_t seed, at::ScalarType dtype = at::kFloat,
                     const TargetConfig& config = targetConfig()) {
  return Target(config, converted(randomParameters(targetParameters(config), seed, 0.15), dtype));
}

inline Drafter drafter(std::uint64_t seed, at::ScalarType dtype = at::kFloat,
                       const DrafterConfig& config = drafterConfig()) {
  return Drafter(config, converted(randomParameters(drafterParameters(config), seed, 0.15), dtype));
}

inline at::Tensor randomIds(std::int64_t batch, std::int64_t length, std::uint64_t seed,
                            std::int64_t vocabulary = targetConfig().vocabSize) {
  at::Tensor ids = at::empty({batch, length}, at::kLong);
  CounterRng rng(seed, "ids");
  for (std::int64_t i = 0; i < ids.numel(); ++i)
    ids.mutable_data_ptr<std::int64_t>()[i] =
        static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(vocabulary)));
  return ids;
}

/// All supervised from `from` on, but for every `gap`-th position (0: no gaps).
inline at::Tensor lossMask(std::int64_t batch, std::int64_t length, std::int64_t from = 2, std::int64_t gap = 0) {
  at::Tensor mask = at::zeros({batch, length}, at::kBool);
  auto values = mask.accessor<bool, 2>();
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::int64_t i = from; i < length; ++i) values[row][i] = gap == 0 || i % gap != 0;
  }
  return mask;
}

/// A batch ready to train on.
struct Batch {
  at::Tensor ids, mask;
  BlockPlan plan;
  at::Tensor feature;
};

inline Batch batch(const Target& target, const DrafterConfig& config, std::int64_t rows, std::int64_t length,
                   std::int64_t anchors, std::uint64_t seed, std::optional<double> gamma = 7.0) {
  Batch made;
  made.ids = randomIds(rows, length, seed);
  made.mask = lossMask(rows, length, 3, 7);
  std::vector<std::int64_t> samples;
  for (std::int64_t row = 0; row < rows; ++row) samples.push_back(row);
  made.plan = planBlocks(made.ids, made.mask, drawAnchors(made.mask, anchors, seed, 0, samples), config.blockSize,
                         config.maskTokenId, gamma);
  made.feature = target.contextFeature(made.ids, config.targetLayerIds);
  return made;
}

/// ‖a - b‖ / ‖b‖ in float64.
inline double relativeError(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor reference = b.detach().to(at::kDouble);
  const double scale = reference.norm().item<double>();
  const double difference = (a.detach().to(at::kDouble) - reference).norm().item<double>();
  return scale == 0 ? difference : difference / scale;
}

}  // namespace redraft::model::tiny
