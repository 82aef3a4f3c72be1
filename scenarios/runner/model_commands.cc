#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "model/checkpoint.h"
#include "model/generate.h"
#include "model/pipeline/byte_tokenizer.h"
#include "model/pipeline/data.h"
#include "model/pipeline/pretrain.h"
#include "scenarios/runner/commands.h"
#include "scenarios/runner/materials.h"
#include "scenarios/runner/numerics.h"

namespace redraft::scenarios {

namespace {

struct PretrainCommand {
  std::vector<std::string> corpora;
  std::string config, out;
  std::int64_t sequenceLength = 128;
  double learningRate = 3e-3, warmup = 0.05;
  model::PretrainOptions options;
};

/// All files as one set of samples; *.jsonl holds conversations, anything else text.
std::vector<model::Sample> loadCorpora(const PretrainCommand& command, std::int64_t vocabulary) {
  std::vector<model::Sample> samples;
  for (const std::string& path : command.corpora) {
    const bool lines = path.size() > 6 && path.compare(path.size() - 6, 6, ".jsonl") == 0;
    const model::DataOptions data{path, lines ? model::DataFormat::kConversations : model::DataFormat::kText,
                                  command.sequenceLength, vocabulary};
    for (model::Sample& sample : model::loadDataset(data).samples) {
      // A target learns to continue any text, questions included.
      std::fill(sample.supervised.begin(), sample.supervised.end(), 1);
      sample.id = static_cast<std::int64_t>(samples.size());
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

int pretrain(PretrainCommand command) {
  settleNumerics(1);
  const model::TargetConfig config = model::loadTargetConfig(command.config);
  const std::vector<model::Sample> samples = loadCorpora(command, config.vocabSize);
  command.options.learningRate.base = command.learningRate;
  command.options.learningRate.totalSteps = command.options.steps;
  command.options.learningRate.warmupSteps = static_cast<std::int64_t>(command.warmup * command.options.steps);
  const auto start = std::chrono::steady_clock::now();
  const auto progress = [&](std::int64_t step, double loss) {
    if (step % 50 != 0 && step + 1 != command.options.steps) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    log(LogLevel::kInfo, "step " + std::to_string(step) + " loss " + std::to_string(loss) + " after " +
                             std::to_string(static_cast<int>(seconds)) + " s");
  };
  const std::vector<at::Tensor> parameters = model::pretrainTarget(config, samples, command.options, progress);
  model::saveCheckpoint(command.out, model::targetConfigJson(config), model::targetParameters(config), parameters);
  return 0;
}

struct GenerateCommand {
  std::string target, drafter, prompt;
  std::int64_t tokens = 64;
};

int generate(const GenerateCommand& command) {
  settleNumerics(1);
  const model::Target target = model::Target::load(command.target, at::kFloat, at::kCPU);
  const std::vector<std::int32_t> bytes = model::encodeBytes(command.prompt);
  const std::vector<std::int64_t> prompt(bytes.begin(), bytes.end());
  if (prompt.empty()) throwBadInput("--prompt", "it is empty", "give at least one byte");
  model::GenerateOptions options;
  options.maxNewTokens = command.tokens;
  options.stopTokens = {model::kEndOfTurn};
  model::Generation result;
  if (command.drafter.empty()) {
    result = model::generateGreedy(target, prompt, options);
  } else {
    const model::Drafter drafter = model::Drafter::load(command.drafter, at::kFloat, at::kCPU);
    model::checkPair(target.config(), drafter.config(), command.drafter);
    result = model::generateSpeculative(target, drafter, prompt, options);
  }
  std::cout << model::decodeBytes({result.tokens.begin(), result.tokens.end()}) << '\n';
  if (!result.acceptLengths.empty()) {
    log(LogLevel::kInfo, std::to_string(result.acceptLengths.size()) + " rounds, " +
                             std::to_string(result.meanAcceptLength()) + " tokens a round");
  }
  return 0;
}

}  // namespace

void addPretrainCommand(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand("pretrain", "train a small byte-level target on a corpus, on the CPU");
  auto options = std::make_shared<PretrainCommand>();
  command->add_option("--corpus", options->corpora, "text, or *.jsonl with conversations; several are joined")
      ->required();
  command->add_option("--config", options->config, "config.json of a Qwen3 target")->required();
  command->add_option("--out", options->out, "folder for config.json and model.safetensors")->required();
  command->add_option("--steps", options->options.steps)->check(CLI::Range(1, 1000000))->capture_default_str();
  command->add_option("--batch", options->options.batchSize)->check(CLI::Range(1, 4096))->capture_default_str();
  command->add_option("--sequence", options->sequenceLength)->check(CLI::Range(2, 1 << 20))->capture_default_str();
  command->add_option("--learning-rate", options->learningRate)->capture_default_str();
  command->add_option("--warmup", options->warmup, "fraction of the steps")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seed", options->options.seed)->capture_default_str();
  command->callback([options, &chosen] { chosen.action = [options] { return pretrain(*options); }; });
}

void addGenerateCommand(CLI::App& app, Chosen& chosen) {
  CLI::App* command =
      app.add_subcommand("generate", "continue a prompt with a byte-level target, with a drafter or without");
  auto options = std::make_shared<GenerateCommand>();
  command->add_option("--target", options->target, "folder with config.json and tensors")->required();
  command->add_option("--drafter", options->drafter, "folder with config.json and tensors; none: the target alone");
  command->add_option("--prompt", options->prompt)->required();
  command->add_option("--tokens", options->tokens, "new tokens")->check(CLI::Range(1, 100000))->capture_default_str();
  command->callback([options, &chosen] { chosen.action = [options] { return generate(*options); }; });
}

}  // namespace redraft::scenarios
