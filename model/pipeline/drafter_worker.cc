#include "model/pipeline/drafter_worker.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "base/hash.h"
#include "model/checkpoint.h"
#include "model/generate.h"
#include "model/instrument.h"
#include "model/role.h"
#include "model/train_step.h"

namespace redraft::model {

namespace {

std::vector<at::Tensor> trainableReplica(const std::vector<at::Tensor>& parameters, at::ScalarType dtype,
                                         at::Device device) {
  std::vector<at::Tensor> replica;
  replica.reserve(parameters.size());
  // A replica never shares memory with the parameters that it is made from, on the CPU either.
  for (const at::Tensor& parameter : parameters) replica.push_back(parameter.detach().to(dtype).clone().to(device));
  return replica;
}

std::vector<std::string> parameterNames(const DrafterConfig& config) {
  std::vector<std::string> names;
  for (ParameterSpec& spec : drafterParameters(config)) names.push_back(std::move(spec.name));
  return names;
}

std::vector<at::Tensor> targetReplica(const PipelineModels& models, at::ScalarType dtype, at::Device device) {
  std::vector<at::Tensor> replica;
  for (const at::Tensor& parameter : models.target) replica.push_back(parameter.detach().to(dtype).to(device));
  return replica;
}

/// The frozen embedding and head alone, on the drafter's device.
TargetHead headReplica(const PipelineModels& models, at::ScalarType dtype, at::Device device) {
  const TargetHead head = Target(models.targetConfig, models.target).head();
  return TargetHead{head.embedding.to(dtype), head.output.to(dtype)}.to(device);
}

}  // namespace

DrafterWorker::DrafterWorker(PipelineShared& shared, int index, const std::optional<RunCheckpoint>& from)
    : shared_(shared),
      index_(index),
      member_(index - shared.plan.part().firstDrafter),
      name_(workerName("drafter", static_cast<std::size_t>(index))),
      device_(shared.options.drafters[static_cast<std::size_t>(index)]),
      drafter_(shared.models.drafterConfig, trainableReplica(shared.models.drafter, shared.options.dtype, device_)),
      optimizer_(drafter_.parameters(), parameterNames(shared.models.drafterConfig), shared.options.adamw),
      head_(headReplica(shared.models, shared.options.dtype, device_)),
      layout_(drafter_.parameters()) {
  if (from) loadRunCheckpoint(*from, drafter_, optimizer_);
  shared_.observer.replicaReady(index_, drafter_);
  stepBegan_ = std::chrono::steady_clock::now();
}

void DrafterWorker::run() {
  for (std::int64_t step = shared_.firstStep; step < shared_.options.steps; ++step) {
    const StepScope scope(step);
    this->step(step);
  }
  if (index_ == 0 && shared_.options.evaluation) evaluate();
}

void DrafterWorker::step(std::int64_t step) {
  instrument().syncPoint(SyncPoint::kStepBegin, step);
  Share share = trainShare(step);
  LossSums own;
  for (const LossSums& sums : share.sums) own += sums;
  shared_.observer.drafterStepped(index_, step, own.loss());

  at::Tensor gradient;
  const LossSums sums = combine(share, step, gradient);
  StepMetrics metrics = update(gradient, step);
  metrics.sums = sums;
  shared_.samples.add(step, name_, share.sample);
  metrics.parametersHash = compareReplicas(step);
  if (member_ == 0) metrics.roles = gatherSamples(step);
  if (index_ == 0) record(std::move(metrics));
  instrument().syncPoint(SyncPoint::kStepEnd, step);
}

Feature DrafterWorker::takeFeature(const MicroBatchRef& ref, RoleSample& sample) {
  instrument().syncPoint(SyncPoint::kQueuePop, ref.sequence);
  const Stopwatch waiting(sample.waitSeconds);
  return shared_.queue.pop(ref.sequence, name_);
}

DrafterWorker::Share DrafterWorker::trainShare(std::int64_t step) {
  Share share;
  GradientTree tree(shared_.plan.microBatches());
  std::vector<PendingSums> pending;
  for (const MicroBatchRef& ref : shared_.plan.ofDrafter(index_, step)) {
    const Feature feature = takeFeature(ref, share.sample);
    const Stopwatch busy(share.sample.busySeconds);
    at::Tensor contextFeature;
    BlockPlan plan;
    {
      const PhaseScope phase(devices::Phase::kHandOff);
      contextFeature = feature.contextFeature.receive(device_).front();
      plan = feature.plan.to(device_);
    }
    PendingMicroBatch result = startMicroBatch(drafter_, head_, contextFeature, plan, shared_.options.objective);
    tree.add({0, ref.index, layout_.flatten(result.gradients)}, combineGradients);
    pending.push_back(std::move(result.sums));
    share.sample.tokens += feature.tokens;
  }
  {
    // Once the device has all of the step's work: a wait a micro-batch would leave it idle.
    const Stopwatch busy(share.sample.busySeconds);
    const PhaseScope phase(devices::Phase::kBackward);
    for (const PendingSums& sums : pending) share.sums.push_back(sums.read());
  }
  share.nodes = tree.take();
  return share;
}

LossSums DrafterWorker::combine(Share& share, std::int64_t step, at::Tensor& gradient) {
  const PhaseScope phase(devices::Phase::kAllReduce);
  const Stopwatch waiting(share.sample.waitSeconds);
  gradient = shared_.gradients.reduce(member_, std::move(share.nodes), device_, step);
  LossSums total;
  // Drafters hold contiguous runs, so this adds in the order of the global index, whatever their number.
  const auto all = shared_.sums.all(member_, bytesOf(share.sums), "the loss sums");
  for (const std::string& drafter : *all) {
    for (const LossSums& sums : valuesOf<LossSums>(drafter)) total += sums;
  }
  // A step without a supervised token has denominator 0 and gradients of 0, which stay.
  if (total.denominator != 0) gradient.div_(total.denominator);
  return total;
}

StepMetrics DrafterWorker::update(const at::Tensor& gradient, std::int64_t step) {
  const PhaseScope phase(devices::Phase::kOptimizer);
  StepMetrics metrics;
  metrics.step = step;
  std::vector<at::Tensor> gradients = layout_.views(gradient);
  metrics.gradNorm = globalNorm(gradients);
  if (index_ == 0) {
    digests_.clear();
    const std::vector<at::Tensor> host = layout_.views(gradient.to(at::kCPU));  // one copy, not one a parameter
    for (std::size_t i = 0; i < host.size(); ++i) digests_.push_back(digestGradient(host[i], i));
  }
  if (shared_.options.clip > 0) clipByGlobalNorm(gradients, metrics.gradNorm, shared_.options.clip);
  metrics.learningRate = shared_.options.learningRate.at(step);
  instrument().syncPoint(SyncPoint::kOptimizerStep, step);
  optimizer_.step(gradients, metrics.learningRate);
  return metrics;
}

std::string DrafterWorker::compareReplicas(std::int64_t step) {
  std::string own = hashTensors(drafter_.parameters());
  const auto hashes = shared_.hashes.all(member_, own, "the parameters' hash");
  if (index_ == 0) {
    std::map<std::string, std::string> named;
    bool equal = true;
    for (std::size_t d = 0; d < hashes->size(); ++d) {
      named[workerName("drafter", d)] = (*hashes)[d];
      equal = equal && (*hashes)[d] == own;
    }
    shared_.observer.replicasCompared(step, equal, named);
  }
  return own;
}

std::map<std::string, RoleSample> DrafterWorker::gatherSamples(std::int64_t step) {
  // Complete: every drafter of this process has given its hash behind its sample, and taken all features behind theirs.
  std::map<std::string, RoleSample> samples = shared_.samples.take(step);
  if (shared_.ranks == nullptr) return samples;
  for (const std::string& text : shared_.ranks->allGather(samplesText(samples), "the roles' samples"))
    samples.merge(samplesFromText(text));
  return samples;
}

void DrafterWorker::record(StepMetrics metrics) {
  const auto now = std::chrono::steady_clock::now();
  metrics.seconds = std::chrono::duration<double>(now - stepBegan_).count();
  stepBegan_ = now;
  for (const auto& [role, sample] : metrics.roles) {
    if (role.rfind("drafter", 0) == 0) metrics.tokens += sample.tokens;
  }
  shared_.record->add(metrics, std::move(digests_));
  shared_.observer.stepDone(metrics);
  const std::int64_t done = metrics.step + 1;
  if (shared_.options.checkpointEvery > 0 && done % shared_.options.checkpointEvery == 0) {
    const PhaseScope phase(devices::Phase::kCheckpoint);
    saveRunCheckpoint(shared_.options.checkpointFolder, done, shared_.options.configuration, drafter_, optimizer_,
                      *shared_.record);
  }
}

void DrafterWorker::evaluate() {
  const PhaseScope phase(devices::Phase::kEvaluate);
  const at::NoGradGuard frozen;
  const EvaluationOptions& evaluation = *shared_.options.evaluation;
  const Target target(shared_.models.targetConfig, targetReplica(shared_.models, shared_.options.dtype, device_));
  GenerateOptions generate;
  generate.maxNewTokens = evaluation.newTokens;
  std::vector<std::int64_t> lengths;
  Hasher text;
  bool greedyEqual = true;
  for (std::size_t i = 0; i < evaluation.prompts.size(); ++i) {
    instrument().syncPoint(SyncPoint::kEvaluate, static_cast<std::int64_t>(i));
    const Generation drafted = generateSpeculative(target, drafter_, evaluation.prompts[i], generate);
    const Generation plain = generateGreedy(target, evaluation.prompts[i], generate);
    lengths.insert(lengths.end(), drafted.acceptLengths.begin(), drafted.acceptLengths.end());
    text.update(drafted.tokens.data(), drafted.tokens.size() * sizeof(drafted.tokens[0]));
    greedyEqual = greedyEqual && drafted.tokens == plain.tokens;
  }
  double sum = 0;
  for (const std::int64_t length : lengths) sum += static_cast<double>(length);
  shared_.record->addEvaluation(lengths, lengths.empty() ? 0 : sum / static_cast<double>(lengths.size()), text.digest(),
                                greedyEqual);
}

}  // namespace redraft::model
