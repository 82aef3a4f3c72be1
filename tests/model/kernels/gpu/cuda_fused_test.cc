// The fused operations on a real GPU, held against the pinned ones of the CPU.
#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <thread>

#include "model/kernels/gpu_ops.h"
#include "model/kernels/ops.h"
#include "model/optimizer.h"
#include "tests/model/kernels/fused_cases.h"
#include "tests/model/kernels/gpu/gpu_machine.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

class CudaFusedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string& why = gpuMachine().whyNone; !why.empty()) GTEST_SKIP() << why;
  }
  const at::Device gpu_{at::kCUDA, 0};
  const std::vector<at::ScalarType> types_ = {at::kFloat, at::kBFloat16};
};

TEST_F(CudaFusedTest, NormsOfEveryWidthAreThePinnedOnes) {
  for (const at::ScalarType type : types_) checkFusedNorms(gpu_, type);
}
TEST_F(CudaFusedTest, TheGatedUnitIsThePinnedOne) {
  for (const at::ScalarType type : types_) checkFusedActivation(gpu_, type);
}
TEST_F(CudaFusedTest, RotationsAreThePinnedOnesHoweverInputsLie) {
  for (const at::ScalarType type : types_) checkFusedRotation(gpu_, type);
}
TEST_F(CudaFusedTest, CrossEntropyIsThePinnedOne) {
  for (const at::ScalarType type : types_) checkFusedCrossEntropy(gpu_, type);
}
TEST_F(CudaFusedTest, SumsOfManyTensorsAreThePinnedOnes) {
  for (const at::ScalarType type : types_) checkFusedSums(gpu_, type);
}
TEST_F(CudaFusedTest, UpdatesAreThePinnedOnesAndTheCopyIsTheMasterRounded) { checkFusedUpdates(gpu_); }

TEST_F(CudaFusedTest, AnOptimizersStepKeepsParametersAtTheirMasters) {
  std::vector<at::Tensor> parameters, gradients;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < 70; ++i) {
    const std::int64_t count = 100 + 7 * static_cast<std::int64_t>(i);
    parameters.push_back(normal({count}, i, at::kBFloat16).to(gpu_));
    gradients.push_back(normal({count}, i + 100).to(gpu_));
    names.push_back("p" + std::to_string(i));
  }
  AdamW optimizer(parameters, names);
  const double norm = globalNorm(gradients);
  EXPECT_LT(clipByGlobalNorm(gradients, norm, 1.0), 1.0);
  EXPECT_NEAR(globalNorm(gradients), 1.0, 1e-5);
  optimizer.step(gradients, 1e-2);
  const auto state = optimizer.state();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    EXPECT_TRUE(sameBits(parameters[i].cpu(), state[3 * i].second.to(at::kBFloat16).cpu())) << i;
}

TEST_F(CudaFusedTest, ManyRowsAtFullSizeAreWithinTheBounds) {
  // A drafter's query norm: 8192 tokens, 32 heads of 128.
  const at::Tensor x = normal({8192, 128}, 1, at::kBFloat16).to(gpu_).repeat({32, 1});
  const at::Tensor w = normal({128}, 2, at::kBFloat16).to(gpu_);
  const auto [y, r] = gpu::rmsNorm(x, w, 1e-6);
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor root = (wide.square().mean(-1, true) + 1e-6).rsqrt();
  const at::Tensor want = wide * root * w.to(at::kDouble);
  EXPECT_TRUE(within(y.cpu(), want.cpu(), bothBounds(want, 136, y).cpu()));
  const auto [dx, dw] = gpu::rmsNormBackward(y, x, w, r, true, true);
  const at::Tensor terms = y.to(at::kDouble) * wide * root;
  EXPECT_TRUE(within(dw.cpu(), terms.sum(0).cpu(), bothBounds(terms.abs().sum(0), 2000, dw).cpu()));
}

TEST_F(CudaFusedTest, AThreadWithoutAContextMayLaunchFirst) {
  const at::Tensor gate = normal({1000}, 1).to(gpu_), up = normal({1000}, 2).to(gpu_);
  const at::Tensor want = gpu::siluMul(gate, up).cpu();
  at::Tensor got;
  std::exception_ptr error;
  std::thread([&] {
    try {
      EXPECT_EQ(gpuMachine().driver->setCurrent({}), devices::Status::kSuccess);
      got = gpu::siluMul(gate, up).cpu();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  EXPECT_TRUE(sameBits(got, want));
}

TEST_F(CudaFusedTest, EveryGpuGivesTheSameBits) {
  if (gpuMachine().driver->deviceCount() < 2) GTEST_SKIP() << "this machine has one GPU";
  const at::Device other(at::kCUDA, 1);
  const FusedResults one = checkFusedNorms(gpu_, at::kBFloat16), two = checkFusedNorms(other, at::kBFloat16);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(sameBits(one[i], two[i])) << i;
}

}  // namespace
}  // namespace redraft::model::testing
