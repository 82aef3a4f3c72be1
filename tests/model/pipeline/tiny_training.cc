#include "tests/model/pipeline/tiny_training.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "devices/kernel_cache.h"
#include "devices/sim/sim_driver.h"
#include "model/blocks.h"
#include "model/checkpoint.h"
#include "model/kernels/attention.h"
#include "model/pipeline/byte_tokenizer.h"
#include "model/pipeline/thread_collective.h"
#include "model/sim/sim_backend.h"
#include "model/train_step.h"

namespace redraft::model {

namespace {

devices::Topology tinyTopology() {
  devices::Topology topology;
  topology.deviceCount = 8;
  for (int i = 0; i < 4; ++i) topology.roles.push_back({"target[" + std::to_string(i) + "]", i});
  for (int i = 0; i < 4; ++i) topology.roles.push_back({"drafter[" + std::to_string(i) + "]", 4 + i});
  for (int from = 0; from < 8; ++from) {
    for (int to = 4; to < 8; ++to) {
      if (from != to) topology.copyEdges.push_back({from, to});
    }
  }
  return topology;
}

/// The driver and the kernel cache of this process. Never destroyed: autograd's threads outlive main().
devices::SimDriver& tinyDriver() {
  static devices::SimDriver& driver = *[] {
    devices::SimOptions options;
    options.topology = tinyTopology();
    devices::SimDriver* made = devices::makeSimDriver(options).release();
    registerSim(*made);
    setKernelCache(new devices::KernelCache(*made, compileAttention));
    return made;
  }();
  return driver;
}

/// Autograd counts the devices at the first backward of the process, whichever test makes it.
class Devices : public ::testing::Environment {
 public:
  void SetUp() override { tinyDriver(); }
};
[[maybe_unused]] const auto* const kDevices = ::testing::AddGlobalTestEnvironment(new Devices);

TargetConfig targetConfig() {
  TargetConfig config;
  config.hiddenSize = 32;
  config.heads = 2;
  config.keyValueHeads = 1;
  config.headDim = 16;
  config.intermediateSize = 48;
  config.vocabSize = kByteVocabulary;
  config.layers = 3;
  config.tieWordEmbeddings = true;
  return config;
}

PipelineModels tinyModels(FeatureSource source) {
  PipelineModels models;
  models.targetConfig = targetConfig();
  models.source = source;
  models.target = randomParameters(targetParameters(models.storedTarget()), 1, 0.2);
  models.drafterConfig = tinyDrafterConfig();
  models.drafter = randomParameters(drafterParameters(models.drafterConfig), 2, 0.05);
  return models;
}

/// Texts of several lengths, so that micro-batches weigh differently.
std::vector<Sample> tinySamples() {
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < 10; ++i) {
    Sample sample;
    sample.id = i;
    for (std::int64_t t = 0; t < 8 + 3 * i; ++t) {
      sample.tokens.push_back(static_cast<std::int32_t>(97 + (i * t + t / 3) % 26));
      sample.supervised.push_back(t % 7 != 5 ? 1 : 0);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

PipelineOptions pipelineOptions(const TinyTraining& training) {
  PipelineOptions options;
  for (int t = 0; t < training.targets; ++t) options.targets.push_back(tinyDevice(t % 4));
  for (int d = 0; d < training.drafters; ++d) options.drafters.push_back(tinyDevice(4 + d));
  options.steps = training.steps;
  options.batch.seed = 11;
  options.batch.microBatches = training.microBatches;
  options.batch.batchSize = training.batchSize;
  options.batch.anchors = 5;
  options.batch.gamma = 4.0;
  options.objective.chunkBlocks = training.chunkBlocks;
  options.learningRate = {LearningRate::Schedule::kCosine, 1e-2, 1, training.steps};
  options.clip = 1.0;
  options.dtype = training.dtype;
  options.queueDepth = training.queueDepth;
  options.exchange = training.exchange;
  options.digestEvery = training.digestEvery;
  options.compareEvery = training.compareEvery;
  options.checkpointEvery = training.checkpointEvery;
  options.checkpointFolder = training.checkpointFolder;
  options.configuration = "tiny";
  return options;
}

class Watch : public PipelineObserver {
 public:
  Watch(TinyOutcome& outcome, const std::function<void(const StepMetrics&)>& intervene)
      : outcome_(outcome), intervene_(intervene) {}

  void replicasCompared(std::int64_t, bool equal, const std::map<std::string, std::string>&) override {
    outcome_.replicasEqual = outcome_.replicasEqual && equal;
  }
  void stepDone(const StepMetrics& metrics) override {
    outcome_.steps.push_back(metrics);
    if (intervene_) intervene_(metrics);
  }

 private:
  TinyOutcome& outcome_;
  const std::function<void(const StepMetrics&)>& intervene_;
};

/// Ranks but the first, each on a thread; joined at the end.
class OtherRanks {
 public:
  OtherRanks(int ranks, std::function<void(int)> each) : body_(std::move(each)) {
    for (int r = 1; r < ranks; ++r) {
      threads_.emplace_back([this, r] {
        try {
          body_(r);
        } catch (const std::exception&) {  // rank 0 throws what ended them all
        }
      });
    }
  }
  ~OtherRanks() {
    for (std::thread& thread : threads_) thread.join();
  }
  OtherRanks(const OtherRanks&) = delete;
  OtherRanks& operator=(const OtherRanks&) = delete;

 private:
  const std::function<void(int)> body_;
  std::vector<std::thread> threads_;
};

std::vector<std::string> parameterNames(const DrafterConfig& config) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : drafterParameters(config)) names.push_back(spec.name);
  return names;
}

}  // namespace

DrafterConfig tinyDrafterConfig() {
  DrafterConfig config;
  static_cast<DecoderConfig&>(config) = targetConfig();
  config.layers = 2;
  config.targetLayers = 3;
  config.blockSize = 4;
  config.maskTokenId = kMaskToken;
  config.targetLayerIds = {0, 1};
  config.slidingLayers = {true, false};
  config.slidingWindow = 8;
  return config;
}

std::vector<std::size_t> gradientsAsMade() {
  const PipelineModels models = tinyModels(FeatureSource::kLayers);
  const Target target(models.targetConfig, models.target);
  const Drafter drafter(models.drafterConfig, models.drafter);
  const std::vector<Sample> samples = tinySamples();
  const Batch batch = padSamples({&samples.back()});
  const DrafterConfig& config = drafter.config();
  const BlockPlan plan = planBlocks(batch.ids, batch.lossMask, drawAnchors(batch.lossMask, 5, 1, 0, batch.sampleIds),
                                    config.blockSize, config.maskTokenId, {});
  std::vector<std::size_t> made;
  for (std::size_t p = 0; p < drafter.parameters().size(); ++p)
    drafter.parameters()[p].register_hook([&made, p](const at::Tensor&) { made.push_back(p); });
  backwardMicroBatch(drafter, target.head(), target.contextFeature(batch.ids, config.targetLayerIds), plan, {});
  return made;
}

at::Device tinyDevice(int index) {
  tinyDriver();
  return simDevice(index);
}

std::vector<std::string> TinyOutcome::bits() const {
  std::vector<std::string> lines;
  for (const StepMetrics& step : steps) {
    lines.push_back(std::to_string(step.step) + " loss " + toHexFloat(step.sums.loss()) + " accuracy " +
                    toHexFloat(step.sums.accuracy()) + " norm " + toHexFloat(step.gradNorm) + " tokens " +
                    std::to_string(step.tokens) + " parameters " + step.parametersHash);
  }
  return lines;
}

TinyOutcome train(const TinyTraining& training, const std::string& folder,
                  const std::function<void(const StepMetrics&)>& intervene, bool resume) {
  const PipelineOptions options = pipelineOptions(training);
  const PipelineModels models = tinyModels(training.source);
  const std::vector<Sample> samples = tinySamples();
  RunMonitor monitor(std::chrono::seconds(60));
  RunRecord record(folder, {{"scenario", "tiny"}, {"numerics_class", Json::object()}},
                   parameterNames(models.drafterConfig));
  TinyOutcome outcome;
  Watch watch(outcome, intervene);
  std::optional<RunCheckpoint> from;
  if (resume) {
    from = newestRunCheckpoint(options.checkpointFolder, options.configuration);
    REDRAFT_CHECK(from.has_value(), "a test that resumes has saved before");
  }
  RunMonitor between(std::chrono::seconds(60));
  ThreadGroup group(between, training.processes);
  {
    const OtherRanks others(training.processes, [&](int r) {
      RunMonitor own(std::chrono::seconds(60));
      PipelineObserver nobody;
      runPipeline(options, models, samples, own, nullptr, nobody, from, group.rank(r).get());
    });
    const std::unique_ptr<Collective> ranks = training.processes > 1 ? group.rank(0) : nullptr;
    runPipeline(options, models, samples, monitor, &record, watch, from, ranks.get());
  }
  record.writeDigests();
  return outcome;
}

c10::Stream poolStream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

}  // namespace redraft::model
