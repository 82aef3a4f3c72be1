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
  const TargetHead head = Target(models.storedTarget(), models.target).head();
  return TargetHead{head.embedding.to(dtype), head.output.to(dtype)}.to(device);
}

/// Every `every` steps from the first on, and in the last; 0: never.
bool isDue(std::int64_t step, std::int64_t every, std::int64_t steps) {
  return every > 0 && (step % every == 0 || step + 1 == steps);
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
      features_(shared.queue, name_, device_),
      exchange_(shared.gradients, shared.monitor, member_, name_, drafter_, shared.plan.microBatches(),
                shared.options.exchange) {
  if (from) loadRunCheckpoint(*from, drafter_, optimizer_);
  shared_.observer.replicaReady(index_, drafter_);
  stepBegan_ = std::chrono::steady_clock::now();
}

void DrafterWorker::run() {
  try {
    trainSteps();
  } catch (...) {
    // Before this is unwound: the exchange's thread may wait for another drafter, and is joined then.
    shared_.monitor.fail(std::current_exception());
    throw;
  }
}

void DrafterWorker::trainSteps() {
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

  Gradient gradient;
  const LossSums sums = combine(share, step, gradient);
  StepMetrics metrics = update(gradient, step);
  metrics.sums = sums;
  share.sample.featureWaitSeconds = features_.takeWaitSeconds();  // the norm has waited for the stream
  share.sample.gradientWaitSeconds = exchange_.takeExposedSeconds();
  shared_.samples.add(step, name_, share.sample);
  metrics.parametersHash = compareReplicas(step);
  if (member_ == 0) metrics.roles = gatherSamples(step);
  if (index_ == 0) record(std::move(metrics));
  instrument().syncPoint(SyncPoint::kStepEnd, step);
}

std::optional<MicroBatchRef> DrafterWorker::following(const std::vector<MicroBatchRef>& refs, std::size_t i,
                                                      std::int64_t step) const {
  if (i + 1 < refs.size()) return refs[i + 1];
  if (step + 1 == shared_.options.steps) return std::nullopt;
  return shared_.plan.ofDrafter(index_, step + 1).front();
}

DrafterWorker::Share DrafterWorker::trainShare(std::int64_t step) {
  Share share;
  std::vector<PendingSums> pending;
  const std::vector<MicroBatchRef> refs = shared_.plan.ofDrafter(index_, step);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const ArrivedFeature feature = features_.take(refs[i], share.sample);
    const Stopwatch busy(share.sample.busySeconds);
    exchange_.beginMicroBatch(refs[i].index, step, i + 1 == refs.size());
    pending.push_back(
        backwardMicroBatch(drafter_, head_, feature.contextFeature, feature.plan, shared_.options.objective));
    exchange_.endMicroBatch();
    if (const auto next = following(refs, i, step)) features_.ahead(*next);
    share.sample.tokens += feature.tokens;
  }
  // Once the device has all of the step's work: a wait a micro-batch would leave it idle.
  const Stopwatch busy(share.sample.busySeconds);
  const PhaseScope phase(devices::Phase::kBackward);
  for (const PendingSums& sums : pending) share.sums.push_back(sums.read());
  return share;
}

LossSums DrafterWorker::combine(Share& share, std::int64_t step, Gradient& gradient) {
  const PhaseScope phase(devices::Phase::kAllReduce);
  const Stopwatch waiting(share.sample.waitSeconds);
  instrument().syncPoint(SyncPoint::kCollectiveEnter, step);
  gradient.held = exchange_.finish();
  instrument().syncPoint(SyncPoint::kCollectiveLeave, step);
  for (const HandOff& sum : gradient.held) gradient.vectors.push_back(sum.tensors().front());
  LossSums total;
  // Drafters hold contiguous runs, so this adds in the order of the global index, whatever their number.
  const auto all = shared_.sums.all(member_, bytesOf(share.sums), "the loss sums");
  for (const std::string& drafter : *all) {
    for (const LossSums& sums : valuesOf<LossSums>(drafter)) total += sums;
  }
  // A step without a supervised token has denominator 0 and gradients of 0, which stay.
  if (total.denominator == 0) return total;
  for (at::Tensor& vector : gradient.vectors) vector.div_(total.denominator);
  return total;
}

StepMetrics DrafterWorker::update(const Gradient& gradient, std::int64_t step) {
  const PhaseScope phase(devices::Phase::kOptimizer);
  StepMetrics metrics;
  metrics.step = step;
  std::vector<at::Tensor> gradients = exchange_.buckets().views(gradient.vectors);
  metrics.gradNorm = globalNorm(gradients);
  if (index_ == 0 && isDue(step, shared_.options.digestEvery, shared_.options.steps)) digest(gradient);
  if (shared_.options.clip > 0) clipByGlobalNorm(gradients, metrics.gradNorm, shared_.options.clip);
  metrics.learningRate = shared_.options.learningRate.at(step);
  instrument().syncPoint(SyncPoint::kOptimizerStep, step);
  optimizer_.step(gradients, metrics.learningRate);
  return metrics;
}

void DrafterWorker::digest(const Gradient& gradient) {
  std::vector<at::Tensor> host;
  for (const at::Tensor& vector : gradient.vectors) host.push_back(vector.to(at::kCPU));  // a copy a bucket
  const std::vector<at::Tensor> gradients = exchange_.buckets().views(host);
  digests_.clear();
  for (std::size_t i = 0; i < gradients.size(); ++i) digests_.push_back(digestGradient(gradients[i], i));
}

std::string DrafterWorker::compareReplicas(std::int64_t step) {
  const bool due = isDue(step, shared_.options.compareEvery, shared_.options.steps);
  std::string own = due ? hashTensors(drafter_.parameters()) : std::string();
  // In every step: behind it the samples of all drafters are there.
  const auto hashes = shared_.hashes.all(member_, own, "the parameters' hash");
  if (due && index_ == 0) {
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
  shared_.record->add(metrics, std::exchange(digests_, {}));
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
  const Target target(shared_.models.storedTarget(), targetReplica(shared_.models, shared_.options.dtype, device_));
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
