#pragma once
// AdamW on float32 masters, the clip before it, and the learning rate it takes. Source: SpecForge,
// specforge/optimizer.py and lr_scheduler.py.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace redraft::model {

struct LearningRate {
  enum class Schedule { kConstant, kCosine };

  Schedule schedule = Schedule::kCosine;
  double base = 6e-4;
  std::int64_t warmupSteps = 0;
  std::int64_t totalSteps = 1;

  /// For the 0-based step s: base (s + 1) / W below W = warmupSteps; then base (1 + cos(π (s - W) / (T - W))) / 2, and
  /// 0 from T = totalSteps on. Constant: base.
  double at(std::int64_t step) const;
};

/// L2 norm over all gradients, in float64, summed in a fixed order.
double globalNorm(const std::vector<at::Tensor>& gradients);

/// Multiplies every gradient by min(1, limit / (norm + 1e-6)) in place; returns that factor.
double clipByGlobalNorm(std::vector<at::Tensor>& gradients, double norm, double limit);

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weightDecay = 0;
};

/// Not thread-safe; one a drafter.
class AdamW {
 public:
  /// float32 parameters are their own masters; others get float32 copies. Moments are float32, on the parameters'
  /// devices.
  AdamW(std::vector<at::Tensor> parameters, std::vector<std::string> names, AdamWOptions options = {});

  /// One step of all parameters with these float32 gradients; parameters follow their masters.
  void step(const std::vector<at::Tensor>& gradients, double learningRate);

  std::int64_t steps() const { return steps_; }

  /// Everything that a resumed run needs, the masters included: names "master.NAME", "moment1.NAME", "moment2.NAME" to
  /// tensors that alias this object's, in that order for each parameter.
  std::vector<std::pair<std::string, at::Tensor>> state() const;
  /// Copies a saved state in, parameters too. Throws Error(kBadInput) at `place` for a missing, unknown or misshapen
  /// tensor; then nothing has changed.
  void load(const std::map<std::string, at::Tensor>& saved, std::int64_t steps, const std::string& place);

 private:
  void publish(std::size_t i);

  AdamWOptions options_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_, masters_, moment1_, moment2_;
  std::int64_t steps_ = 0;
};

}  // namespace redraft::model
