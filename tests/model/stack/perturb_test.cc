#include "model/perturb.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace redraft::model {
namespace {

at::Tensor someNumbers() { return at::linspace(-2, 3, 4001, at::kFloat); }

TEST(PerturbTest, MovesEveryElementByOneUlpInARandomDirection) {
  const at::Tensor before = someNumbers(), after = movedByOneUlp({before}, 1, 0, at::kFloat).front();
  int up = 0;
  for (std::int64_t i = 0; i < before.numel(); ++i) {
    const float was = before[i].item<float>(), is = after[i].item<float>();
    if (was == 0) continue;
    EXPECT_TRUE(is == std::nextafter(was, 10.0f) || is == std::nextafter(was, -10.0f)) << was << " to " << is;
    up += is > was ? 1 : 0;
  }
  EXPECT_NEAR(up, 2000, 200);
}

TEST(PerturbTest, IsAFunctionOfSeedStreamAndNumberAlone) {
  const std::vector<at::Tensor> two = {someNumbers(), someNumbers()};
  const auto first = movedByOneUlp(two, 1, 0, at::kFloat), again = movedByOneUlp(two, 1, 0, at::kFloat);
  EXPECT_TRUE(first[0].equal(again[0]));
  EXPECT_FALSE(first[0].equal(first[1])) << "each tensor has signs of its own";
  EXPECT_FALSE(first[0].equal(movedByOneUlp(two, 2, 0, at::kFloat)[0]));
  EXPECT_FALSE(first[0].equal(movedByOneUlp(two, 1, 1, at::kFloat)[0]));
  EXPECT_TRUE(two[0].equal(someNumbers())) << "what it was given is left alone";
}

TEST(PerturbTest, OneUlpOfBfloat16IsItsLastBit) {
  const at::Tensor before = at::full({64}, 1.5f), after = movedByOneUlp({before}, 1, 0, at::kBFloat16).front();
  for (std::int64_t i = 0; i < before.numel(); ++i) EXPECT_EQ(std::fabs(after[i].item<float>() - 1.5f), 0x1p-7f);
}

TEST(PerturbTest, LeavesZerosAndWhatIsNoNumberAsTheyAre) {
  const at::Tensor odd = at::tensor({0.0f, -0.0f, INFINITY, -INFINITY, NAN});
  const at::Tensor after = movedByOneUlp({odd}, 3, 0, at::kBFloat16).front();
  EXPECT_TRUE(at::allclose(after, odd, 0, 0, /*equal_nan=*/true));
  EXPECT_TRUE(std::signbit(after[1].item<float>()));
}

TEST(PerturbTest, TheSmallestKeepTheirSign) {
  const at::Tensor small = at::full({64}, 1e-45f), after = movedByOneUlp({small}, 3, 0, at::kBFloat16).front();
  EXPECT_TRUE(after.gt(0).all().item<bool>());
}

}  // namespace
}  // namespace redraft::model
