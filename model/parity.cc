#include "model/parity.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "model/checkpoint.h"
#include "model/drafter.h"
#include "model/fixture.h"
#include "model/generate.h"
#include "model/optimizer.h"
#include "model/target.h"
#include "model/train_step.h"

namespace redraft::model {

namespace {

constexpr double kNoiseFactor = 5.0;
constexpr double kFloor = 1e-5;
constexpr double kParameterFloor = 1e-4;
constexpr double kUpdateFloor = 1e-3;

double euclidean(const at::Tensor& x) { return x.to(at::kDouble).norm().item<double>(); }

/// `scale`: what the difference is measured against.
double relative(double difference, double scale) { return scale == 0 ? difference : difference / scale; }

double relativeError(const at::Tensor& x, const at::Tensor& ref) {
  return relative(euclidean(x.detach().to(at::kDouble) - ref.to(at::kDouble)), euclidean(ref));
}

double countDiffering(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& ref) {
  std::size_t differing = std::max(x.size(), ref.size()) - std::min(x.size(), ref.size());
  for (std::size_t i = 0; i < std::min(x.size(), ref.size()); ++i) differing += x[i] != ref[i] ? 1 : 0;
  return static_cast<double>(differing);
}

/// The largest error of several, and which one it was of; nothing is larger than not-a-number.
struct Worst {
  double error = 0;
  std::string where;

  void add(double candidate, const std::string& name) {
    if (where.empty() || std::isnan(candidate) || candidate > error) *this = {candidate, name};
  }
};

/// One fixture's comparison; collects lines.
class Comparison {
 public:
  explicit Comparison(Fixture fixture)
      : fixture_(std::move(fixture)),
        target_(fixture_.target, fixture_.targetParameters),
        drafter_(fixture_.drafter, copies(fixture_.drafterParameters)),
        names_(namesOf(drafterParameters(fixture_.drafter))) {}

  std::vector<ParityLine> run() {
    compareTarget();
    compareFirstStep();
    compareGeneration();
    compareTraining();
    return lines_;
  }

 private:
  static std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> copied;
    for (const at::Tensor& tensor : tensors) copied.push_back(tensor.clone());
    return copied;
  }

  static std::vector<std::string> namesOf(const std::vector<ParameterSpec>& specs) {
    std::vector<std::string> names;
    for (const ParameterSpec& spec : specs) names.push_back(spec.name);
    return names;
  }

  void add(const std::string& quantity, double error, double bound, const std::string& worst = "") {
    lines_.push_back({quantity, error, bound, error <= bound, worst});
  }

  double bound(const std::string& noise, double floor = kFloor) const {
    const auto found = fixture_.noise.find(noise);
    return std::max(floor, found == fixture_.noise.end() ? 0.0 : kNoiseFactor * found->second);
  }

  BlockPlan plan(std::size_t step) const {
    return planBlocks(fixture_.ids, fixture_.lossMask, fixture_.anchors[step], fixture_.drafter.blockSize,
                      fixture_.drafter.maskTokenId, fixture_.training.gamma);
  }

  void compareTarget() {
    const c10::NoGradGuard frozen;
    const Target::Output output = target_.forward(fixture_.ids, fixture_.drafter.targetLayerIds);
    feature_ = output.contextFeature;
    const at::Tensor logits = target_.head().logits(output.hidden);
    add("target_logits", relativeError(logits, fixture_.reference.targetLogits), bound("target_logits"));
    add("context_feature", relativeError(feature_, fixture_.reference.contextFeature), bound("context_feature"));
  }

  void compareMask(const std::string& quantity, const at::Tensor& reference, std::int64_t window) {
    if (!reference.defined()) return;
    const Anchors& anchors = fixture_.anchors.front();
    const BlockMask mask =
        makeDraftMask(anchors.positions, anchors.keep, fixture_.ids.size(1), fixture_.drafter.blockSize, window);
    add(quantity, denseMask(mask).ne(reference != 0).sum().item<double>(), 0.0);
  }

  void compareFirstStep() {
    const c10::NoGradGuard frozen;
    compareMask("mask_full", fixture_.reference.maskFull, 0);
    compareMask("mask_sliding", fixture_.reference.maskSliding, fixture_.drafter.slidingWindow);
    const at::Tensor hidden = draftHidden(drafter_, target_.head(), feature_, plan(0));
    add("drafter_hidden", relativeError(hidden, fixture_.reference.drafterHidden), bound("drafter_hidden"));
  }

  void compareGeneration() {
    const FixtureReference& ref = fixture_.reference;
    const std::vector<std::int64_t> prompt = fixture_.prompt();
    GenerateOptions options;
    options.masking = DraftMasking::kAsSpecForge;
    options.maxNewTokens = static_cast<std::int64_t>(ref.greedy.size() - prompt.size());
    add("greedy", countDiffering(generateGreedy(target_, prompt, options).tokens, ref.greedy), 0.0);
    options.maxNewTokens = static_cast<std::int64_t>(ref.speculative.size() - prompt.size());
    const Generation drafted = generateSpeculative(target_, drafter_, prompt, options);
    add("spec_generate", countDiffering(drafted.tokens, ref.speculative), 0.0);
    add("accept_lengths", countDiffering(drafted.acceptLengths, ref.acceptLengths), 0.0);
  }

  void compareGradients(const std::vector<at::Tensor>& gradients) {
    Worst worst;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      worst.add(relativeError(gradients[i], fixture_.reference.gradients[i]), names_[i]);
    add("grad", worst.error, bound("grad"), worst.where);
  }

  void compareTraining() {
    const FixtureReference& ref = fixture_.reference;
    AdamW optimizer(drafter_.parameters(), names_);
    Worst losses, accuracies, norms;
    for (std::size_t step = 0; step < fixture_.anchors.size(); ++step) {
      MicroBatchResult result =
          trainMicroBatch(drafter_, target_.head(), feature_, plan(step), fixture_.training.objective);
      for (at::Tensor& gradient : result.gradients) gradient.div_(result.sums.denominator);
      if (step == 0) compareGradients(result.gradients);
      const double gradientNorm = globalNorm(result.gradients);
      const std::string name = "step " + std::to_string(step);
      const auto distance = [](double x, double y) { return relative(std::fabs(x - y), std::fabs(y)); };
      losses.add(distance(result.sums.loss(), ref.losses[step]), name);
      accuracies.add(std::fabs(result.sums.accuracy() - ref.accuracies[step]), name);
      norms.add(distance(gradientNorm, ref.gradientNorms[step]), name);
      clipByGlobalNorm(result.gradients, gradientNorm, fixture_.training.clip);
      optimizer.step(result.gradients, fixture_.training.learningRate);
    }
    add("losses", losses.error, bound("losses"), losses.where);
    add("accuracies", accuracies.error, kFloor, accuracies.where);
    add("grad_norms", norms.error, bound("grad_norms"), norms.where);
    compareParameters();
  }

  void compareParameters() {
    Worst after, update;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const at::Tensor reference = fixture_.reference.parametersAfter[i].to(at::kDouble);
      const double difference = euclidean(drafter_.parameters()[i].detach().to(at::kDouble) - reference);
      const double moved = euclidean(reference - fixture_.drafterParameters[i].to(at::kDouble));
      after.add(relative(difference, euclidean(reference)), names_[i]);
      update.add(relative(difference, moved), names_[i]);
    }
    add("param_after", after.error, bound("param_after", kParameterFloor), after.where);
    add("param_update", update.error, bound("param_update", kUpdateFloor), update.where);
  }

  Fixture fixture_;
  Target target_;
  Drafter drafter_;
  std::vector<std::string> names_;
  at::Tensor feature_;
  std::vector<ParityLine> lines_;
};

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

}  // namespace

std::vector<ParityLine> runParity(const std::string& path) { return Comparison(loadFixture(path)).run(); }

std::string parityTable(const std::vector<ParityLine>& lines) {
  std::string table = "| quantity | error | bound | | worst |\n|---|---|---|---|---|\n";
  for (const ParityLine& line : lines) {
    const bool exact = line.bound == 0;
    table += "| " + line.quantity + " | " +
             (exact ? std::to_string(static_cast<long long>(line.error)) + " differ" : scientific(line.error)) + " | " +
             (exact ? "exact" : scientific(line.bound)) + " | " + (line.pass ? "ok" : "EXCEEDED") + " | " + line.worst +
             " |\n";
  }
  return table;
}

int parityMain(const std::string& path) {
  const std::vector<ParityLine> lines = runParity(path);
  std::cout << parityTable(lines) << std::flush;
  return std::all_of(lines.begin(), lines.end(), [](const ParityLine& line) { return line.pass; }) ? 0 : 1;
}

}  // namespace redraft::model
