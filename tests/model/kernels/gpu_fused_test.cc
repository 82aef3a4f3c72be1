// The fused kernels by emulation, where a missing barrier shows: threads in both orders give the same bits.
#include "model/kernels/gpu_ops.h"
#include "tests/model/kernels/fused_cases.h"
#include "tests/model/kernels/fused_emulation.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

template <class Check>
void inBothOrders(Check check) {
  FusedResults first, second;
  {
    const FusedEmulationScope kernels;
    first = check();
  }
  {
    const FusedEmulationScope kernels(ThreadOrder::kDescending);
    second = check();
  }
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(sameBits(first[i], second[i])) << i;
}

struct GpuFusedTest : ::testing::TestWithParam<at::ScalarType> {
  const at::ScalarType type = GetParam();
};

TEST_P(GpuFusedTest, NormsOfEveryWidthAreThePinnedOnes) {
  inBothOrders([&] { return checkFusedNorms(at::kCPU, type); });
}
TEST_P(GpuFusedTest, TheGatedUnitIsThePinnedOne) {
  inBothOrders([&] { return checkFusedActivation(at::kCPU, type); });
}
TEST_P(GpuFusedTest, RotationsAreThePinnedOnesHoweverInputsLie) {
  inBothOrders([&] { return checkFusedRotation(at::kCPU, type); });
}
TEST_P(GpuFusedTest, CrossEntropyIsThePinnedOne) {
  inBothOrders([&] { return checkFusedCrossEntropy(at::kCPU, type); });
}
TEST_P(GpuFusedTest, SumsOfManyTensorsAreThePinnedOnes) {
  inBothOrders([&] { return checkFusedSums(at::kCPU, type); });
}
INSTANTIATE_TEST_SUITE_P(Types, GpuFusedTest, ::testing::Values(at::kFloat, at::kBFloat16));

TEST(GpuFusedUpdateTest, UpdatesAreThePinnedOnesAndTheCopyIsTheMasterRounded) {
  inBothOrders([] { return checkFusedUpdates(at::kCPU); });
}

TEST(GpuFusedUpdateTest, WithoutEmulationTensorsOfTheCpuAreRefused) {
  EXPECT_ANY_THROW(gpu::siluMul(at::ones({4}), at::ones({4})));
}

}  // namespace
}  // namespace redraft::model::testing
