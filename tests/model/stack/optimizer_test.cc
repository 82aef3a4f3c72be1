#include "model/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/philox.h"
#include "tests/model/stack/tiny_models.h"

namespace redraft::model {
namespace {

at::Tensor randomTensor(std::int64_t count, std::uint64_t seed) {
  at::Tensor tensor = at::empty({count}, at::kFloat);
  CounterRng rng(seed, "optimizer test");
  for (std::int64_t i = 0; i < count; ++i) tensor.mutable_data_ptr<float>()[i] = rng.normal();
  return tensor;
}

TEST(LearningRateTest, WarmsUpAndFallsAsACosine) {
  LearningRate rate;
  rate.base = 6e-4;
  rate.warmupSteps = 4;
  rate.totalSteps = 104;
  for (std::int64_t s = 0; s < 4; ++s) EXPECT_DOUBLE_EQ(rate.at(s), 6e-4 * static_cast<double>(s + 1) / 4.0);
  for (const std::int64_t s : {4, 5, 29, 54, 79, 103}) {
    const double expected = 6e-4 * (1 + std::cos(M_PI * static_cast<double>(s - 4) / 100.0)) / 2;
    EXPECT_NEAR(rate.at(s), expected, 6e-4 * 0x1p-51) << s;  // two cosines, each within one unit in the last place of 1
  }
  EXPECT_DOUBLE_EQ(rate.at(4), 6e-4);
  EXPECT_DOUBLE_EQ(rate.at(54), 3e-4);
  EXPECT_EQ(rate.at(104), 0.0);
  EXPECT_EQ(rate.at(1000), 0.0);
}

TEST(LearningRateTest, WithoutWarmUpOrAnyDecay) {
  LearningRate rate;
  rate.totalSteps = 10;
  EXPECT_EQ(rate.at(0), rate.base);
  rate.warmupSteps = 10;
  EXPECT_EQ(rate.at(9), rate.base);
  EXPECT_EQ(rate.at(10), 0.0);
  rate.schedule = LearningRate::Schedule::kConstant;
  EXPECT_EQ(rate.at(0), rate.base);
  EXPECT_EQ(rate.at(999), rate.base);
}

TEST(ClipTest, ScalesByTheGlobalNorm) {
  std::vector<at::Tensor> gradients = {at::tensor({3.0f, 0.0f}), at::tensor({4.0f})};
  EXPECT_EQ(globalNorm(gradients), 5.0);
  EXPECT_DOUBLE_EQ(clipByGlobalNorm(gradients, 5.0, 1.0), 1.0 / (5.0 + 1e-6));
  EXPECT_EQ(gradients[0][0].item<float>(), 3.0f * static_cast<float>(1.0 / (5.0 + 1e-6)));
  std::vector<at::Tensor> small = {at::tensor({0.5f})};
  EXPECT_EQ(clipByGlobalNorm(small, 0.5, 1.0), 1.0);
  EXPECT_EQ(small[0].item<float>(), 0.5f);
}

TEST(AdamWTest, FollowsTheFormulaInFloat64) {
  for (const double decay : {0.0, 0.1}) {
    const at::Tensor start = randomTensor(64, 1);
    const at::Tensor parameter = start.clone();
    AdamW optimizer({parameter}, {"p"}, {0.9, 0.999, 1e-8, decay});
    std::vector<double> w(64), m(64, 0.0), v(64, 0.0);
    for (std::size_t i = 0; i < 64; ++i) w[i] = start[static_cast<std::int64_t>(i)].item<float>();
    constexpr int kSteps = 20;
    constexpr double kRate = 1e-2;
    for (int t = 1; t <= kSteps; ++t) {
      const at::Tensor gradient = randomTensor(64, 100 + static_cast<std::uint64_t>(t));
      optimizer.step({gradient}, kRate);
      for (std::size_t i = 0; i < 64; ++i) {
        const double g = gradient[static_cast<std::int64_t>(i)].item<float>();
        w[i] *= 1 - kRate * decay;
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        w[i] -= kRate * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
      }
    }
    // A step rounds the weight once or twice (|w| ≤ 4), and moves it by at most kRate · 10, computed with about ten
    // roundings of moments that carry up to kSteps of them.
    const double bound = kSteps * (2 * 4 + kRate * 10 * (10 + kSteps)) * tiny::kUnit;
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_LE(std::fabs(parameter[static_cast<std::int64_t>(i)].item<float>() - w[i]), bound) << i;
  }
}

TEST(AdamWTest, Bfloat16ParametersFollowFloat32Masters) {
  // Each update is far below half a unit in the last place of a bfloat16 near 1 (2^-9): without masters nothing would
  // move.
  const at::Tensor parameter = at::ones({4}, at::kBFloat16);
  AdamW optimizer({parameter}, {"p"});
  for (int i = 0; i < 200; ++i) optimizer.step({at::ones({4})}, 1e-4);
  const at::Tensor master = optimizer.state()[0].second;
  EXPECT_EQ(master.scalar_type(), at::kFloat);
  EXPECT_LT(std::fabs(master[0].item<float>() - 0.98f), 200 * 4 * tiny::kUnit);
  EXPECT_TRUE(at::equal(parameter, master.to(at::kBFloat16)));
}

TEST(AdamWTest, ResumedRunContinuesBitForBit) {
  const auto run = [](AdamW& optimizer, int from, int to) {
    for (int t = from; t < to; ++t) optimizer.step({randomTensor(8, static_cast<std::uint64_t>(t))}, 1e-2);
  };
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor whole = randomTensor(8, 50).to(dtype), first = whole.clone(), second = at::zeros({8}, dtype);
    AdamW uninterrupted({whole}, {"p"}), stopped({first}, {"p"}), resumed({second}, {"p"});
    run(uninterrupted, 0, 10);
    run(stopped, 0, 4);
    std::map<std::string, at::Tensor> saved;
    for (const auto& [name, tensor] : stopped.state()) saved[name] = tensor.clone();
    resumed.load(saved, stopped.steps(), "state");
    run(resumed, 4, 10);
    EXPECT_TRUE(at::equal(whole, second));
    EXPECT_EQ(resumed.steps(), 10);
    EXPECT_TRUE(at::equal(uninterrupted.state()[2].second, resumed.state()[2].second));
  }
}

TEST(AdamWTest, StateOfAnotherModelChangesNothing) {
  const at::Tensor parameter = at::ones({3});
  AdamW optimizer({parameter}, {"p"});
  std::map<std::string, at::Tensor> saved = {
      {"master.p", at::zeros({3})}, {"moment1.p", at::zeros({3})}, {"moment2.p", at::zeros({3})}};
  const auto expectRefused = [&](const std::map<std::string, at::Tensor>& state) {
    EXPECT_THROW(optimizer.load(state, 1, "state"), Error);
    EXPECT_TRUE(at::equal(parameter, at::ones({3})));
    EXPECT_EQ(optimizer.steps(), 0);
  };
  auto missing = saved, misshapen = saved, wrongType = saved, unknown = saved;
  missing.erase("moment2.p");
  misshapen["moment1.p"] = at::zeros({4});
  wrongType["master.p"] = at::zeros({3}, at::kBFloat16);
  unknown["master.q"] = at::zeros({3});
  for (const auto& state : {missing, misshapen, wrongType, unknown}) expectRefused(state);
  optimizer.load(saved, 1, "state");
  EXPECT_TRUE(at::equal(parameter, at::zeros({3})));
}

}  // namespace
}  // namespace redraft::model
