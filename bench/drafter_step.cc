#include "bench/drafter_step.h"

#include <ATen/Context.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/keep.h"
#include "devices/cuda_loader.h"
#include "devices/kernel_cache.h"
#include "model/checkpoint.h"
#include "model/cuda/torch_cuda.h"
#include "model/device_copy.h"
#include "model/kernels/attention.h"
#include "model/kernels/gpu_attention.h"
#include "model/pipeline/data.h"
#include "model/pipeline/gradient_exchange.h"
#include "model/pipeline/pretrain.h"
#include "model/pipeline/target_worker.h"
#include "model/role.h"
#include "model/train_step.h"
#include "scenarios/runner/numerics.h"

namespace redraft::bench {
namespace {

using namespace model;
using scenarios::Scenario;

constexpr const char* kRole = "drafter[0]";
constexpr std::int64_t kMicroBatches = 4;  // different ones
const at::Device kGpu(at::kCUDA, 0);

struct MicroBatch {
  at::Tensor contextFeature;  // [B, S, K · H]
  BlockPlan plan;
};

/// Attention as a run has it: compiled by NVRTC, kept on disk.
void startGpu(const Scenario& scenario) {
  scenarios::settleNumerics(scenario.threads);
  loadTorchCuda();
  scenarios::settleGpuNumerics();
  at::globalContext().lazyInitDevice(at::kCUDA);
  devices::Driver& driver = keepForProcess(devices::loadCudaDriver({}));
  auto store = std::make_shared<devices::ArtefactStore>(devices::ArtefactStore::defaultFolder());
  auto compiler = gpuAttentionCompiler(devices::cudaArchitecture(driver, kGpu.index()), std::move(store));
  setKernelCache(&keepForProcess(std::make_unique<devices::KernelCache>(driver, std::move(compiler))));
}

template <class Config>
Config configOf(const Json& json, const std::string& place, Config (*read)(JsonReader)) {
  const JsonDocument document = JsonDocument::parse(json.dump(), place);
  return read(JsonReader(document));
}

std::vector<at::Tensor> onGpu(const std::vector<at::Tensor>& parameters, at::ScalarType dtype) {
  std::vector<at::Tensor> moved;
  for (const at::Tensor& parameter : parameters) moved.push_back(parameter.to(dtype).to(kGpu));
  return moved;
}

TargetHead loadHead(const Scenario& scenario, at::ScalarType dtype) {
  TargetConfig config = configOf(scenario.target.config, scenario.name + ": target.config", readTargetConfig);
  config.layers = 0;
  return Target(config,
                onGpu(randomParameters(targetParameters(config), scenario.seed, initialDeviation(config)), dtype))
      .head();
}

Drafter makeDrafter(const Scenario& scenario, at::ScalarType dtype) {
  const DrafterConfig config = configOf(scenario.drafter, scenario.name + ": drafter", readDrafterConfig);
  return {config, onGpu(randomParameters(drafterParameters(config), scenario.seed, initialDeviation(config)), dtype)};
}

std::vector<MicroBatch> makeMicroBatches(const Scenario& scenario, const DrafterConfig& config,
                                         const TargetHead& head) {
  const std::vector<Sample> samples =
      randomSamples(scenario.seed, scenario.data.samples, scenario.data.sequenceLength, config.vocabSize);
  BatchOptions options;
  options.seed = scenario.seed;
  options.batchSize = scenario.training.batchSize;
  options.anchors = scenario.training.anchors;
  options.blockSize = config.blockSize;
  options.maskTokenId = config.maskTokenId;
  options.gamma = scenario.training.gamma;
  const BatchMaker maker(samples, options);
  std::vector<MicroBatch> made;
  for (std::int64_t step = 0; step < kMicroBatches; ++step) {
    const MicroBatchRef ref{step, step};
    const Batch batch = maker.batch(ref);
    made.push_back({tableFeature(upload(batch.ids, kGpu), head.embedding, config.targetLayerIds),
                    maker.plan(ref, batch).to(kGpu)});
  }
  return made;
}

std::vector<std::string> parameterNames(const DrafterConfig& config) {
  std::vector<std::string> names;
  for (ParameterSpec& spec : drafterParameters(config)) names.push_back(std::move(spec.name));
  return names;
}

ExchangeOptions exchangeOptions(const scenarios::TrainingSpec& training) {
  return {std::int64_t{training.bucketMib} << 20, training.exchange == "overlapped"};
}

}  // namespace

struct DrafterStep::State {
  explicit State(const Scenario& scenario)
      : training(scenario.training),
        dtype(training.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat),
        role(kRole),
        stream(c10::impl::VirtualGuardImpl(at::kCUDA).getStreamFromGlobalPool(kGpu)),
        head(loadHead(scenario, dtype)),
        drafter(makeDrafter(scenario, dtype)),
        optimizer(drafter.parameters(), parameterNames(drafter.config())),
        microBatches(makeMicroBatches(scenario, drafter.config(), head)),
        monitor(std::chrono::minutes(1)),
        sum(monitor, {kRole}, 1),
        exchange(sum, monitor, 0, kRole, drafter, 1, exchangeOptions(training)) {}

  const scenarios::TrainingSpec training;
  const at::ScalarType dtype;
  const RoleScope role;
  const c10::StreamGuard stream;  // the role's own, as in a run
  TargetHead head;
  Drafter drafter;
  AdamW optimizer;
  std::vector<MicroBatch> microBatches;
  RunMonitor monitor;
  GradientSum sum;
  GradientExchange exchange;

  LossSums train(std::int64_t step) {
    const MicroBatch& batch = microBatches[static_cast<std::size_t>(step % kMicroBatches)];
    exchange.beginMicroBatch(0, step, true);
    const PendingSums pending =
        backwardMicroBatch(drafter, head, batch.contextFeature, batch.plan, {LossType::kDflash, training.chunkBlocks});
    exchange.endMicroBatch();
    const PhaseScope phase(devices::Phase::kBackward);
    return pending.read();
  }

  void update(const LossSums& sums) {
    std::vector<at::Tensor> vectors;
    std::vector<HandOff> held;
    {
      const PhaseScope phase(devices::Phase::kAllReduce);
      held = exchange.finish();
      for (const HandOff& part : held) vectors.push_back(part.tensors().front());
      for (at::Tensor& vector : vectors) vector.div_(sums.denominator);
    }
    const PhaseScope phase(devices::Phase::kOptimizer);
    std::vector<at::Tensor> gradients = exchange.buckets().views(vectors);
    const double norm = globalNorm(gradients);
    if (training.clip > 0) clipByGlobalNorm(gradients, norm, training.clip);
    optimizer.step(gradients, training.learningRate);
    exchange.takeExposedSeconds();
  }
};

DrafterStep::DrafterStep(const Scenario& scenario) {
  startGpu(scenario);
  state_ = std::make_unique<State>(scenario);
}

DrafterStep::~DrafterStep() = default;

double DrafterStep::run(std::int64_t step) {
  const StepScope number(step);
  const LossSums sums = state_->train(step);
  state_->update(sums);
  return sums.loss();
}

void DrafterStep::finish() { c10::impl::VirtualGuardImpl(at::kCUDA).synchronizeDevice(kGpu.index()); }

}  // namespace redraft::bench
