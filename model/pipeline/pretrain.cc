#include "model/pipeline/pretrain.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <string>
#include <utility>

#include "model/checkpoint.h"
#include "model/kernels/ops.h"
#include "model/pipeline/batch.h"
#include "model/target.h"

namespace redraft::model {

namespace {

/// Mean cross-entropy of the supervised tokens, each predicted from those before it.
at::Tensor nextTokenLoss(const Target& target, const Batch& batch) {
  const std::int64_t width = batch.ids.size(1) - 1;
  const at::Tensor hidden = target.forward(batch.ids.narrow(1, 0, width), {}).hidden;
  const at::Tensor logits = target.head().logits(hidden).flatten(0, 1);
  const at::Tensor labels = batch.ids.narrow(1, 1, width).flatten();
  const at::Tensor weight = batch.lossMask.narrow(1, 1, width).flatten().to(at::kFloat);
  const at::Tensor loss = std::get<0>(crossEntropy(logits, labels));
  return (loss * weight).sum() / weight.sum();
}

}  // namespace

double initialDeviation(const DecoderConfig& config) { return 1 / std::sqrt(static_cast<double>(config.hiddenSize)); }

std::vector<at::Tensor> pretrainTarget(const TargetConfig& config, const std::vector<Sample>& samples,
                                       const PretrainOptions& options, const PretrainProgress& progress) {
  const std::vector<ParameterSpec> specs = targetParameters(config);
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) names.push_back(spec.name);
  std::vector<at::Tensor> parameters = randomParameters(specs, options.seed, initialDeviation(config));
  for (at::Tensor& parameter : parameters) parameter.requires_grad_(true);
  const Target target(config, parameters);
  AdamW optimizer(parameters, names, options.adamw);
  BatchOptions batches;
  batches.seed = options.seed;
  batches.batchSize = options.batchSize;
  const BatchMaker maker(samples, batches);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const at::Tensor loss = nextTokenLoss(target, maker.batch({.sequence = step, .step = step}));
    std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, parameters);
    clipByGlobalNorm(gradients, globalNorm(gradients), options.clip);
    optimizer.step(gradients, options.learningRate.at(step));
    progress(step, loss.item<double>());
  }
  for (at::Tensor& parameter : parameters) parameter = parameter.detach();
  return parameters;
}

}  // namespace redraft::model
