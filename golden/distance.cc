#include "golden/distance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/error.h"

namespace redraft::golden {
namespace {

double relative(double difference, double of) {
  if (!std::isfinite(difference) || !std::isfinite(of)) return std::numeric_limits<double>::infinity();
  if (difference == 0) return 0;
  return of == 0 ? std::numeric_limits<double>::infinity() : std::fabs(difference / of);
}

void raise(double value, const std::string& name, double& most, std::string& whose) {
  if (value <= most && !whose.empty()) return;
  most = value;
  whose = name;
}

[[noreturn]] void notOneTraining(const Record& b, const std::string& why) {
  throwBadInput(b.origin, why, "compare two runs of one scenario");
}

void requireOneTraining(const Record& a, const Record& b) {
  if (a.parameters != b.parameters) notOneTraining(b, "its parameters are others");
  const std::size_t steps = std::min(a.steps.size(), b.steps.size());
  if (steps == 0 || a.gradients.size() < steps || b.gradients.size() < steps)
    notOneTraining(b, "there is no step with gradients on both sides");
  for (std::size_t i = 0; i < steps; ++i) {
    for (const char* given : {"learning_rate", "tokens"})
      if (a.steps[i].values.at(given) != b.steps[i].values.at(given))
        notOneTraining(b, std::string(given) + " of step " + std::to_string(a.steps[i].step) + " differs");
  }
}

}  // namespace

double sketchDifference(const GradientDigest& a, const GradientDigest& b) {
  double squares = 0;
  for (int i = 0; i < kSketchSize; ++i) {
    const double difference = static_cast<double>(a.sketch[i]) - b.sketch[i];
    squares += difference * difference;
  }
  return std::sqrt(squares);
}

double relativeDistance(double a, double b) { return relative(a - b, a); }

double sketchDistance(const GradientDigest& g, const GradientDigest& h) {
  return relative(sketchDifference(g, h), g.l2);
}

double StepDistance::largest() const { return std::max({loss, gradientNorm, l2, gradient}); }

std::vector<StepDistance> distances(const Record& a, const Record& b) {
  requireOneTraining(a, b);
  std::vector<StepDistance> steps;
  for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    StepDistance distance;
    distance.step = a.steps[i].step;
    distance.loss = relativeDistance(a.steps[i].values.at("loss"), b.steps[i].values.at("loss"));
    distance.gradientNorm = relativeDistance(a.steps[i].values.at("grad_norm"), b.steps[i].values.at("grad_norm"));
    const bool kept = !a.gradients[i].empty() && !b.gradients[i].empty();
    for (std::size_t p = 0; kept && p < a.parameters.size(); ++p) {
      const GradientDigest &x = a.gradients[i][p], &y = b.gradients[i][p];
      raise(relativeDistance(x.l2, y.l2), a.parameters[p], distance.l2, distance.l2Parameter);
      raise(sketchDistance(x, y), a.parameters[p], distance.gradient, distance.gradientParameter);
    }
    steps.push_back(std::move(distance));
  }
  return steps;
}

std::string describe(const std::vector<StepDistance>& steps) {
  std::string text = "step  loss     grad_norm  worst L2  worst gradient (about)\n";
  for (const StepDistance& step : steps) {
    char line[128];
    std::snprintf(line, sizeof line, "%4lld  %-7.1e  %-9.1e  %-8.1e  %.1e  ", static_cast<long long>(step.step),
                  step.loss, step.gradientNorm, step.l2, step.gradient);
    text += line + step.gradientParameter + "\n";
  }
  return text;
}

}  // namespace redraft::golden
