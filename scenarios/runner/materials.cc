#include "scenarios/runner/materials.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "model/checkpoint.h"
#include "model/perturb.h"
#include "model/pipeline/micro_batch_plan.h"
#include "model/pipeline/pretrain.h"

namespace redraft::scenarios {

namespace {

void loadTarget(const Scenario& scenario, const std::string& folder, model::PipelineModels& models) {
  if (scenario.target.checkpoint.empty()) {
    const JsonDocument config = JsonDocument::parse(scenario.target.config.dump(), scenario.name + ": target.config");
    models.targetConfig = model::readTargetConfig(JsonReader(config));
    models.target = model::randomParameters(model::targetParameters(models.storedTarget()), scenario.seed,
                                            model::initialDeviation(models.targetConfig));
    return;
  }
  if (models.source != model::FeatureSource::kLayers)
    throwBadInput(scenario.name + ": target.source", "a table is made from a config, not from a checkpoint",
                  "give \"config\", or take \"source\" away");
  const std::string path = joinPath(folder, scenario.target.checkpoint);
  const std::string home =
      std::filesystem::is_directory(path) ? path : std::filesystem::path(path).parent_path().string();
  models.targetConfig = model::loadTargetConfig(joinPath(home, "config.json"));
  models.target =
      model::loadTargetParameters(model::TensorSource::open(path), models.targetConfig, at::kFloat, at::kCPU);
}

void loadDrafter(const Scenario& scenario, model::PipelineModels& models) {
  const JsonDocument config = JsonDocument::parse(scenario.drafter.dump(), scenario.name + ": drafter");
  models.drafterConfig = model::readDrafterConfig(JsonReader(config));
  models.drafter = model::randomParameters(model::drafterParameters(models.drafterConfig), scenario.seed,
                                           model::initialDeviation(models.drafterConfig));
  model::checkPair(models.targetConfig, models.drafterConfig, scenario.name + ": drafter");
}

void perturb(const PerturbationSpec& perturbation, model::PipelineModels& models) {
  if (perturbation.unit == "attention") return;  // AttentionMoves does it in every step
  const at::ScalarType unit = perturbation.unit == "bfloat16" ? at::kBFloat16 : at::kFloat;
  constexpr std::uint64_t kTarget = 0, kDrafter = 1;
  models.target = model::movedByOneUlp(models.target, perturbation.seed, kTarget, unit);
  models.drafter = model::movedByOneUlp(models.drafter, perturbation.seed, kDrafter, unit);
}

/// The prompts are the last samples of the data, which are then not trained on.
model::EvaluationOptions takePrompts(const Scenario& scenario, std::vector<model::Sample>& samples) {
  const EvaluateSpec& spec = *scenario.evaluate;
  if (static_cast<std::size_t>(spec.prompts) >= samples.size()) {
    throwBadInput(scenario.name + ": evaluate.prompts",
                  std::to_string(spec.prompts) + " prompts leave none of " + std::to_string(samples.size()) +
                      " samples to train on",
                  "ask for fewer prompts, or give more data");
  }
  model::EvaluationOptions options;
  options.newTokens = spec.newTokens;
  for (int i = 0; i < spec.prompts; ++i) {
    const std::vector<std::int32_t>& tokens = samples.back().tokens;
    const auto length = std::min(tokens.size(), static_cast<std::size_t>(spec.promptTokens));
    options.prompts.emplace_back(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length));
    samples.pop_back();
  }
  return options;
}

std::vector<model::Sample> loadSamples(const Scenario& scenario, const std::string& folder, std::int64_t vocabulary) {
  const DataSpec& spec = scenario.data;
  if (spec.format == "random")
    return model::randomSamples(scenario.seed, spec.samples, spec.sequenceLength, vocabulary);
  model::DataOptions data;
  data.path = joinPath(folder, spec.path);
  data.format = dataFormat(spec.format);
  data.sequenceLength = spec.sequenceLength;
  data.vocabulary = vocabulary;
  model::Dataset dataset = model::loadDataset(data);
  log(LogLevel::kInfo, data.path + ": " + std::to_string(dataset.samples.size()) + " samples, " +
                           std::to_string(dataset.unsupervised) + " without two adjacent supervised tokens left out, " +
                           std::to_string(dataset.cut) + " cut to " + std::to_string(data.sequenceLength) + " tokens");
  return std::move(dataset.samples);
}

std::vector<at::Device> devicesOf(const Scenario& scenario, const RunBackend& backend, const std::string& role) {
  std::vector<at::Device> devices;
  const auto found = scenario.topology.roles.find(role);
  if (found == scenario.topology.roles.end()) return devices;
  for (const int device : found->second) devices.push_back(backend.device(device));
  return devices;
}

model::LossType lossType(const Scenario& scenario) {
  const std::string& name = scenario.training.loss;
  // The scenario's "ce" is the field's "dflash".
  const std::optional<model::LossType> type = model::lossTypeFromName(name == "ce" ? "dflash" : name);
  if (!type) throwBadInput(scenario.name + ": training.loss", "there is no loss \"" + name + "\"");
  return *type;
}

model::PipelineOptions pipelineOptions(const Scenario& scenario, const std::string& folder, const RunBackend& backend) {
  const TrainingSpec& training = scenario.training;
  model::PipelineOptions options;
  options.targets = devicesOf(scenario, backend, "target");
  options.drafters = devicesOf(scenario, backend, "drafter");
  options.ownStream = [&backend](const std::string& role, at::Device device) {
    return backend.ownStream(role, device);
  };
  options.steps = training.steps;
  options.batch.seed = scenario.seed;
  options.batch.microBatches = training.microBatches;
  options.batch.batchSize = training.batchSize;
  options.batch.anchors = training.anchors;
  options.batch.gamma = training.gamma;
  options.objective.type = lossType(scenario);
  options.objective.chunkBlocks = training.chunkBlocks;
  options.learningRate.schedule =
      training.schedule == "cosine" ? model::LearningRate::Schedule::kCosine : model::LearningRate::Schedule::kConstant;
  options.learningRate.base = training.learningRate;
  // As SpecForge: int(warmup_ratio * total_steps).
  options.learningRate.warmupSteps = static_cast<std::int64_t>(training.warmup * training.steps);
  options.learningRate.totalSteps = training.steps;
  options.clip = training.clip;
  options.dtype = training.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  options.queueDepth = training.queueDepth;
  options.exchange.bucketBytes = std::int64_t{training.bucketMib} << 20;
  options.exchange.overlapped = training.exchange == "overlapped";
  options.digestEvery = training.digestEvery;
  options.compareEvery = training.compareEvery;
  options.checkpointEvery = training.checkpointEvery;
  options.checkpointFolder = joinPath(folder, "checkpoint");
  options.configuration = configurationHash(scenario);
  return options;
}

}  // namespace

model::DataFormat dataFormat(const std::string& name) {
  if (name == "conversations") return model::DataFormat::kConversations;
  return name == "tokens" ? model::DataFormat::kTokens : model::DataFormat::kText;
}

Materials loadMaterials(const Scenario& scenario, const std::string& folder, const RunBackend& backend) {
  Materials materials;
  if (scenario.target.source == "table") materials.models.source = model::FeatureSource::kTable;
  loadTarget(scenario, folder, materials.models);
  loadDrafter(scenario, materials.models);
  if (scenario.perturbation) perturb(*scenario.perturbation, materials.models);
  materials.samples = loadSamples(scenario, folder, materials.models.targetConfig.vocabSize);
  materials.options = pipelineOptions(scenario, folder, backend);
  // Throws when a role is missing or a drafter would get nothing.
  const model::MicroBatchPlan fits(scenario.training.microBatches, scenario.topology.workers("target"),
                                   scenario.topology.workers("drafter"));
  if (scenario.evaluate) materials.options.evaluation = takePrompts(scenario, materials.samples);
  return materials;
}

}  // namespace redraft::scenarios
