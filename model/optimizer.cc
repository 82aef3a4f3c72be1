#include "model/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/exact_math.h"
#include "model/kernels/ops.h"

namespace redraft::model {

namespace {
constexpr double kPi = 3.14159265358979323846;
constexpr double kClipEpsilon = 1e-6;
}  // namespace

double LearningRate::at(std::int64_t step) const {
  if (schedule == Schedule::kConstant) return base;
  if (step < warmupSteps) return base * static_cast<double>(step + 1) / static_cast<double>(warmupSteps);
  if (step >= totalSteps) return 0.0;
  const double done = static_cast<double>(step - warmupSteps) / static_cast<double>(totalSteps - warmupSteps);
  return base * (1.0 + exactCos(kPi * done)) / 2.0;
}

double globalNorm(const std::vector<at::Tensor>& gradients) {
  double sum = 0;
  for (const double squares : sumsOfSquares(gradients)) sum += squares;
  return std::sqrt(sum);
}

double clipByGlobalNorm(std::vector<at::Tensor>& gradients, double norm, double limit) {
  const double factor = std::min(1.0, limit / (norm + kClipEpsilon));
  if (factor == 1.0) return factor;
  scaleAll(gradients, factor);
  return factor;
}

AdamW::AdamW(std::vector<at::Tensor> parameters, std::vector<std::string> names, AdamWOptions options)
    : options_(options), names_(std::move(names)), parameters_(std::move(parameters)) {
  REDRAFT_CHECK(names_.size() == parameters_.size(), "a name a parameter");
  for (const at::Tensor& parameter : parameters_) {
    // Aliases a float32 parameter, copies any other.
    masters_.push_back(parameter.detach().to(at::kFloat));
    moment1_.push_back(at::zeros_like(masters_.back()));
    moment2_.push_back(at::zeros_like(masters_.back()));
  }
}

void AdamW::step(const std::vector<at::Tensor>& gradients, double learningRate) {
  REDRAFT_CHECK(gradients.size() == parameters_.size(), "a gradient a parameter");
  const c10::NoGradGuard frozen;
  ++steps_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i];
    // A GPU's kernel has the new master in its registers.
    const bool inOnePass = parameter.is_cuda() && parameter.scalar_type() == at::kBFloat16 && parameter.is_contiguous();
    adamwStep(masters_[i], moment1_[i], moment2_[i], gradients[i], learningRate, options_.beta1, options_.beta2,
              options_.eps, options_.weightDecay, steps_, inOnePass ? std::optional(parameter) : std::nullopt);
    if (!inOnePass) publish(i);
  }
}

void AdamW::publish(std::size_t i) {
  if (parameters_[i].scalar_type() != at::kFloat) parameters_[i].copy_(masters_[i]);
}

std::vector<std::pair<std::string, at::Tensor>> AdamW::state() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    all.emplace_back("master." + names_[i], masters_[i]);
    all.emplace_back("moment1." + names_[i], moment1_[i]);
    all.emplace_back("moment2." + names_[i], moment2_[i]);
  }
  return all;
}

void AdamW::load(const std::map<std::string, at::Tensor>& saved, std::int64_t steps, const std::string& place) {
  const auto own = state();
  for (const auto& [name, tensor] : own) {
    const auto found = saved.find(name);
    if (found == saved.end()) throwBadInput(place, "the optimizer state lacks " + name, "Save the run again.");
    if (found->second.sizes() != tensor.sizes() || found->second.scalar_type() != at::kFloat)
      throwBadInput(place, name + " has another shape or dtype than the model's parameter",
                    "Resume with its own model.");
  }
  if (saved.size() != own.size())
    throwBadInput(place,
                  "the optimizer state holds " + std::to_string(saved.size()) + " tensors, expected " +
                      std::to_string(own.size()),
                  "Resume with its own model.");
  const c10::NoGradGuard frozen;
  for (auto [name, tensor] : own) tensor.copy_(saved.at(name));
  for (std::size_t i = 0; i < parameters_.size(); ++i) publish(i);
  steps_ = steps;
}

}  // namespace redraft::model
