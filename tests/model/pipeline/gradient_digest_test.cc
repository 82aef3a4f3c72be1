#include "model/pipeline/gradient_digest.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"
#include "base/philox.h"

namespace redraft::model {
namespace {

at::Tensor noise(std::int64_t count, std::uint64_t seed) {
  at::Tensor tensor = at::empty({count}, at::kFloat);
  CounterRng rng(seed, "noise");
  for (std::int64_t i = 0; i < count; ++i) tensor.mutable_data_ptr<float>()[i] = rng.normal();
  return tensor;
}

double sketchDistance(const GradientDigest& a, const GradientDigest& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.sketch.size(); ++i) sum += std::pow(double{a.sketch[i]} - double{b.sketch[i]}, 2);
  return std::sqrt(sum);
}

TEST(GradientDigestTest, HoldsNormLargestMagnitudeAndHashOfTheBytes) {
  const at::Tensor gradient = at::tensor({3.f, -4.f, 0.f});
  const GradientDigest digest = digestGradient(gradient, 0);
  EXPECT_EQ(digest.l2, 5.0);
  EXPECT_EQ(digest.max, 4.0);
  std::string hex;
  for (const std::uint8_t byte : digest.hash) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  EXPECT_EQ(hex, hashBytes(gradient.const_data_ptr<float>(), 12));
}

TEST(GradientDigestTest, ASketchIsTheSignedSumOfTheFormat) {
  const at::Tensor gradient = noise(37, 1);
  const GradientDigest digest = digestGradient(gradient, 9);
  for (int j = 0; j < kSketchSize; ++j) {
    CounterRng rng(0, "sketch", 9);
    double sum = 0;
    for (std::int64_t i = 0; i < 37; ++i) {
      const double value = gradient.const_data_ptr<float>()[i];
      sum += (rng.next32() >> j & 1) != 0 ? -value : value;
    }
    EXPECT_EQ(digest.sketch[static_cast<std::size_t>(j)], static_cast<float>(sum / 4)) << j;
  }
}

TEST(GradientDigestTest, TheDistanceOfTwoSketchesEstimatesTheDistanceOfTheGradients) {
  // 16 signs: the squared estimate has relative variance 2/16, so that of 40 of them together has 1/320: six deviations
  // are 0.34.
  double estimated = 0;
  double real = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const at::Tensor a = noise(500, 100 + i);
    const at::Tensor b = a + 0.01 * noise(500, 200 + i);
    estimated += std::pow(sketchDistance(digestGradient(a, i), digestGradient(b, i)), 2);
    real += std::pow((a - b).norm().item<double>(), 2);
  }
  EXPECT_GT(estimated, real * (1 - 0.34));
  EXPECT_LT(estimated, real * (1 + 0.34));
}

TEST(GradientDigestTest, OneChangedBitChangesTheHash) {
  at::Tensor gradient = noise(100, 3);
  const GradientDigest before = digestGradient(gradient, 0);
  gradient[50] = std::nextafter(gradient[50].item<float>(), 10.f);
  EXPECT_NE(digestGradient(gradient, 0).hash, before.hash);
  EXPECT_NE(hashTensors({gradient}), hashTensors({noise(100, 3)}));
}

TEST(GradientDigestTest, ANanIsTheLargestMagnitude) {
  EXPECT_TRUE(std::isnan(digestGradient(at::tensor({1.f, NAN, 2.f}), 0).max) ||
              std::isnan(digestGradient(at::tensor({1.f, NAN}), 0).l2));
}

}  // namespace
}  // namespace redraft::model
