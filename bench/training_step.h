#pragma once
// A whole training step, for benchmarks: target forward, drafter forward and backward, clip, AdamW.

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "model/blocks.h"
#include "model/checkpoint.h"
#include "model/optimizer.h"
#include "model/train_step.h"

namespace redraft::model {

struct Size {
  std::int64_t hidden, intermediate, heads, vocabulary, layers, rows, length, anchors;
};
// The default suite's, and one whose products fill a core.
inline constexpr Size kSizes[] = {{64, 192, 4, 264, 4, 1, 64, 16}, {512, 1536, 8, 4096, 4, 2, 256, 64}};

template <class Config>
Config sized(const Size& size) {
  Config config;
  config.hiddenSize = size.hidden;
  config.heads = size.heads;
  config.keyValueHeads = size.heads / 2;
  config.headDim = size.hidden / size.heads;
  config.intermediateSize = size.intermediate;
  config.vocabSize = size.vocabulary;
  config.layers = size.layers;
  return config;
}

inline DrafterConfig drafterConfig(const Size& size) {
  auto config = sized<DrafterConfig>(size);
  config.layers = 2;
  config.targetLayers = size.layers;
  config.blockSize = 8;
  config.maskTokenId = size.vocabulary - 1;
  config.targetLayerIds = {0, size.layers / 2};
  config.slidingLayers = {true, false};
  config.slidingWindow = 32;
  return config;
}

struct Training {
  explicit Training(const Size& size)
      : targetConfig(sized<TargetConfig>(size)),
        target(targetConfig, randomParameters(targetParameters(targetConfig), 1, 0.02)),
        drafter(drafterConfig(size), randomParameters(drafterParameters(drafterConfig(size)), 2, 0.02)),
        ids(at::randint(0, size.vocabulary - 1, {size.rows, size.length}, at::kLong)),
        optimizer(drafter.parameters(), std::vector<std::string>(drafter.parameters().size(), "parameter")) {
    const at::Tensor mask = at::ones_like(ids, at::kBool);
    std::vector<std::int64_t> samples;
    for (std::int64_t row = 0; row < size.rows; ++row) samples.push_back(row);
    plan = planBlocks(ids, mask, drawAnchors(mask, size.anchors, 3, 0, samples), drafter.config().blockSize,
                      drafter.config().maskTokenId, 4.0);
  }

  void step() {
    const at::Tensor feature = target.contextFeature(ids, drafter.config().targetLayerIds);
    MicroBatchResult result = trainMicroBatch(drafter, target.head(), feature, plan, {LossType::kDflash, 16});
    for (at::Tensor& gradient : result.gradients) gradient.div_(result.sums.denominator);
    clipByGlobalNorm(result.gradients, globalNorm(result.gradients), 1.0);
    optimizer.step(result.gradients, 1e-4);
  }

  TargetConfig targetConfig;
  Target target;
  Drafter drafter;
  at::Tensor ids;
  AdamW optimizer;
  BlockPlan plan;
};

}  // namespace redraft::model
