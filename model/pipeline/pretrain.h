#pragma once
// Training of a small target on a corpus: plain next-token prediction, on the CPU. What a target of the scenarios is
// made with.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "model/config.h"
#include "model/optimizer.h"
#include "model/pipeline/data.h"

namespace redraft::model {

/// Of the weights of a fresh model: 1 / √H, which is the field's 0.02 at the hidden sizes it is used for (2560), and
/// lets models of a few dozen learn within a few dozen steps.
double initialDeviation(const DecoderConfig& config);

struct PretrainOptions {
  std::uint64_t seed = 0;
  std::int64_t steps = 1;
  std::int64_t batchSize = 8;
  LearningRate learningRate;
  double clip = 1.0;
  AdamWOptions adamw;
};

/// Step and mean loss in nats a token, over supervised tokens.
using PretrainProgress = std::function<void(std::int64_t step, double loss)>;

/// Parameters of a fresh target trained on `samples`, in checkpoint order. The same bits for the same arguments.
std::vector<at::Tensor> pretrainTarget(const TargetConfig& config, const std::vector<Sample>& samples,
                                       const PretrainOptions& options, const PretrainProgress& progress);

}  // namespace redraft::model
