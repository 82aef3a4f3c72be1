#pragma once
// One parity fixture: configurations, inputs and reference values of a tiny case, as safetensors with JSON in its
// metadata (format: docs/parity.md). Reading checks every name, dtype and shape against the configurations; errors are
// Error(kBadInput) that name file and tensor.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/blocks.h"
#include "model/config.h"
#include "model/objective.h"

namespace redraft::model {

struct FixtureTraining {
  std::int64_t anchors = 0;  // N
  std::optional<double> gamma;
  ObjectiveOptions objective;
  double learningRate = 0;
  std::int64_t steps = 0;
  double clip = 0;
};

struct FixtureReference {
  at::Tensor targetLogits, contextFeature;
  at::Tensor maskFull, maskSliding;  // uint8 [B, Q, S + Q]; undefined where the file has none
  at::Tensor drafterHidden;
  std::vector<at::Tensor> gradients, parametersAfter;  // in the order of drafterParameters()
  std::vector<double> losses, accuracies, gradientNorms;
  std::vector<std::int64_t> speculative, greedy, acceptLengths;
};

struct Fixture {
  std::string path;
  TargetConfig target;
  DrafterConfig drafter;
  FixtureTraining training;
  std::map<std::string, double> noise;                          // by quantity; absent counts as 0
  std::vector<at::Tensor> targetParameters, drafterParameters;  // float32, CPU
  at::Tensor ids, lossMask;                                     // int64 and bool [B, S]
  std::vector<Anchors> anchors;                                 // one a step, cut to that step's width
  FixtureReference reference;

  std::vector<std::int64_t> prompt() const;  // ids[0, :max(8, S / 4)]
};

Fixture loadFixture(const std::string& path);

}  // namespace redraft::model
