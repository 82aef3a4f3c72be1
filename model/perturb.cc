#include "model/perturb.h"

#include <ATen/ATen.h>

#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"

namespace redraft::model {

namespace {

constexpr std::uint32_t kBfloat16Unit = 1u << 16;  // its last bit, in a float32's bits
constexpr int kSignsADraw = 32;

/// Magnitudes are ordered as their bits are: one more is the next away from zero.
float moved(float value, std::uint32_t unit, bool up) {
  if (value == 0 || !std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool away = up == (value > 0);
  const float next = std::bit_cast<float>(away ? bits + unit : bits - unit);
  // The smallest would turn into zero or change its sign, the largest into infinity.
  return std::isfinite(next) && std::signbit(next) == std::signbit(value) ? next : value;
}

}  // namespace

std::vector<at::Tensor> movedByOneUlp(const std::vector<at::Tensor>& parameters, std::uint64_t seed,
                                      std::uint64_t stream, at::ScalarType dtype) {
  REDRAFT_CHECK(dtype == at::kFloat || dtype == at::kBFloat16, "one ULP of float32 or of bfloat16");
  const std::uint32_t unit = dtype == at::kFloat ? 1 : kBfloat16Unit;
  std::vector<at::Tensor> all;
  for (std::size_t number = 0; number < parameters.size(); ++number) {
    REDRAFT_CHECK(parameters[number].scalar_type() == at::kFloat && parameters[number].is_cpu(),
                  "parameters are float32 on the host");
    all.push_back(parameters[number].detach().clone(at::MemoryFormat::Contiguous));  // checkpoints are mapped read-only
    float* values = all.back().data_ptr<float>();
    CounterRng rng(seed, "perturbation", stream, number);
    std::uint32_t signs = 0;
    for (std::int64_t i = 0; i < all.back().numel(); ++i) {
      if (i % kSignsADraw == 0) signs = rng.next32();
      values[i] = moved(values[i], unit, (signs >> (i % kSignsADraw) & 1) != 0);
    }
  }
  return all;
}

}  // namespace redraft::model
