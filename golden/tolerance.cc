#include "golden/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "golden/distance.h"

namespace redraft::golden {

namespace {

constexpr double kFloat32 = 0x1p-24, kBfloat16 = 0x1p-8;  // unit roundoffs
// A matrix takes part in three products a step (forward, and the gradients of its input and of itself), and attention's
// two products forward and five backward are shared out to its four matrices: less than two each.
constexpr double kProductsAMatrix = 5;
constexpr double kAttentionMove = 2;  // unit roundoffs of bfloat16 by which kAttentionUnit moves a number

double squareOf(double value) { return value * value; }

void requireSameTraining(const Record& base, const Record& other) {
  std::string problem;
  if (!(base.numericsClass == other.numericsClass)) problem = "is of another numerics class";
  if (base.parameters != other.parameters || base.steps.size() != other.steps.size() ||
      base.gradients.size() != other.gradients.size())
    problem = "has other steps or parameters";
  for (std::size_t s = 0; problem.empty() && s < base.gradients.size(); ++s)
    if (base.gradients[s].empty() != other.gradients[s].empty()) problem = "keeps digests of other steps";
  if (!problem.empty()) throwBadInput(other.origin, problem + " than " + base.origin, "perturb runs of one scenario");
}

double rootMeanSquare(const std::vector<Record>& runs, const auto& change) {
  double squares = 0;
  for (const Record& run : runs) squares += squareOf(change(run));
  return std::sqrt(squares / static_cast<double>(runs.size()));
}

void addGradients(const Record& base, const std::vector<Record>& runs, std::size_t step, Response& response) {
  for (std::size_t p = 0; p < base.parameters.size(); ++p) {
    double whole = std::numeric_limits<double>::quiet_NaN(), norm = whole;
    if (!base.gradients[step].empty()) {
      const GradientDigest& own = base.gradients[step][p];
      whole = rootMeanSquare(runs, [&](const Record& run) { return sketchDifference(own, run.gradients[step][p]); });
      norm = rootMeanSquare(runs, [&](const Record& run) { return run.gradients[step][p].l2 - own.l2; });
    }
    response.series["gradient/" + base.parameters[p]].push_back(whole);
    response.series["gradient_norm/" + base.parameters[p]].push_back(norm);
  }
}

}  // namespace

const std::map<std::string, MetricRule>& defaultRules() {
  static const std::map<std::string, MetricRule> kRules = {
      {"loss", {MetricKind::kUlp, "a mean over sums in float32: differs by what their order rounds to"}},
      {"grad_norm", {MetricKind::kUlp, "a norm of float32 gradients: differs as they do"}},
      {"gradient_norm", {MetricKind::kUlp, "a norm of one float32 gradient: sees a factor sooner than the whole does"}},
      {"gradient", {MetricKind::kRelative, "a tensor: what counts is the norm of its difference"}},
      {"learning_rate", {MetricKind::kExact, "computed on the host in float64 from the step alone"}},
      {"tokens", {MetricKind::kExact, "a count of the data"}},
      {"accuracy", {MetricKind::kStatistical, "a share of argmax decisions: near ties turn over"}},
      {"prefix_acceptance", {MetricKind::kStatistical, "a mean of runs of argmax decisions: near ties turn over"}},
      {"evaluation/mean_accept_length", {MetricKind::kStatistical, "a mean of runs of argmax decisions"}},
      {"evaluation/accept_lengths", {MetricKind::kBits, "one near tie that turns over changes all that follow"}},
      {"evaluation/text_hash", {MetricKind::kBits, "a hash has no distance"}},
      {"parameters_hash", {MetricKind::kBits, "a hash has no distance; the next step's gradients stand for it"}},
  };
  return kRules;
}

Response measureResponse(const Record& base, const std::vector<Record>& perturbed, const std::string& commit) {
  if (perturbed.size() < static_cast<std::size_t>(kFewestSeeds))
    throwBadInput(base.origin, std::to_string(perturbed.size()) + " perturbed runs say too little",
                  "make at least " + std::to_string(kFewestSeeds));
  for (const Record& run : perturbed) requireSameTraining(base, run);
  Response response;
  response.seeds = static_cast<int>(perturbed.size());
  response.commit = commit;
  for (std::size_t s = 0; s < base.steps.size(); ++s) {
    for (const char* metric : {"loss", "grad_norm"}) {
      const double own = base.steps[s].values.at(metric);
      response.series[metric].push_back(
          rootMeanSquare(perturbed, [&](const Record& run) { return run.steps[s].values.at(metric) - own; }));
    }
    addGradients(base, perturbed, s, response);
  }
  return response;
}

double roundingOf(const Arithmetic& arithmetic, const std::string& unit) {
  if (unit == kAttentionUnit) return std::sqrt(static_cast<double>(arithmetic.attentionRoundings)) / kAttentionMove;
  double squares = kProductsAMatrix * static_cast<double>(arithmetic.reductionLength) * squareOf(kFloat32);
  squares += static_cast<double>(arithmetic.bfloat16Roundings) * squareOf(kBfloat16);
  return std::sqrt(squares) / (unit == kBfloat16Unit ? kBfloat16 : kFloat32);
}

std::vector<std::string> unitsOf(const Arithmetic& a, const Arithmetic& b) {
  if (a.bfloat16Roundings > 0 || b.bfloat16Roundings > 0) return {kBfloat16Unit};
  if (a.attentionRoundings > 0 || b.attentionRoundings > 0) return {kFloat32Unit, kAttentionUnit};
  return {kFloat32Unit};
}

}  // namespace redraft::golden
