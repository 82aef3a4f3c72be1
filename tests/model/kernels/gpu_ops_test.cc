// The operations for GPUs, run on CPU tensors (their kernels by emulation) and held against the pinned ones: each of
// the two is within γ of the exact value, so they differ by no more than the two bounds together, and by one rounding
// of the result's type each.
#include "model/kernels/gpu_ops.h"

#include <ATen/ATen.h>

#include "model/kernels/ops.h"
#include "model/kernels/registry.h"
#include "tests/model/kernels/fused_cases.h"
#include "tests/model/kernels/fused_emulation.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

struct GpuOpsTest : ::testing::TestWithParam<at::ScalarType> {
  const at::ScalarType type = GetParam();
  const FusedEmulationScope kernels;
};

TEST_P(GpuOpsTest, ProductsAgreeWithThePinnedOnes) {
  constexpr std::int64_t kRows = 12, kIn = 40, kOut = 24;
  at::Tensor x = normal({3, 4, kIn}, 1, type).requires_grad_(true), w = normal({kOut, kIn}, 2, type);
  w.requires_grad_(true);
  const at::Tensor grad = normal({3, 4, kOut}, 3, type);
  const at::Tensor y = model::linear(x, w);
  const auto want = gradients(y, grad, {x, w});
  const at::NoGradGuard frozen;
  const at::Tensor size = at::matmul(f64(x).abs(), f64(w).abs().t());
  EXPECT_TRUE(within(gpu::linear(x, w), y, bothBounds(size, kIn, y)));
  const at::Tensor dx = at::matmul(f64(grad).abs(), f64(w).abs());
  EXPECT_TRUE(within(gpu::linearGradInput(grad, w), want[0], bothBounds(dx, kOut, want[0])));
  const at::Tensor dw = at::matmul(f64(grad).abs().view({kRows, kOut}).t(), f64(x).abs().view({kRows, kIn}));
  EXPECT_TRUE(within(gpu::linearGradWeight(grad, x), want[1], bothBounds(dw, kRows, want[1])));
}

TEST_P(GpuOpsTest, NormsAgreeWithThePinnedOnes) {
  constexpr std::int64_t kRows = 21, kWidth = 64;
  at::Tensor x = normal({3, 7, kWidth}, 1, type).requires_grad_(true),
             w = normal({kWidth}, 2, type).requires_grad_(true);
  const at::Tensor grad = normal({3, 7, kWidth}, 3, type);
  const at::Tensor y = model::rmsNorm(x, w, kNormEps);
  const auto want = gradients(y, grad, {x, w});
  const at::NoGradGuard frozen;
  const auto [got, r] = gpu::rmsNorm(x, w, kNormEps);
  EXPECT_TRUE(within(got, y, bothBounds(y, kWidth, y)));
  const auto [dx, dw] = gpu::rmsNormBackward(grad, x, w, r, true, true);
  const at::Tensor g64 = f64(grad), x64 = f64(x), r64 = f64(r).view({3, 7, 1});
  const at::Tensor pull = (g64 * f64(w) * x64).abs().mean(-1, true);
  const at::Tensor size = (r64 * g64 * f64(w)).abs() + x64.abs() * r64.pow(3) * pull;
  EXPECT_TRUE(within(dx, want[0], bothBounds(size, 4 * kWidth, want[0])));
  EXPECT_TRUE(
      within(dw, want[1], bothBounds((g64 * x64 * r64).abs().view({kRows, kWidth}).sum(0), kRows + kWidth, want[1])));
  EXPECT_EQ(std::get<0>(gpu::rmsNormBackward(grad, x, w, r, false, true)).numel(), 0);
  EXPECT_EQ(std::get<1>(gpu::rmsNormBackward(grad, x, w, r, true, false)).numel(), 0);
}

TEST_P(GpuOpsTest, TheGatedUnitAgreesWithThePinnedOne) {
  at::Tensor gate = normal({5, 33}, 1, type).mul_(6).requires_grad_(true), up = normal({5, 33}, 2, type);
  up.requires_grad_(true);
  const at::Tensor grad = normal({5, 33}, 3, type);
  const at::Tensor y = model::siluMul(gate, up);
  const auto want = gradients(y, grad, {gate, up});
  const at::NoGradGuard frozen;
  EXPECT_TRUE(within(gpu::siluMul(gate, up), y, bothBounds(y, 12, y)));
  const auto [dGate, dUp] = gpu::siluMulBackward(grad, gate, up);
  const at::Tensor size = (f64(grad) * f64(up)).abs() * (1 + f64(gate).abs());
  EXPECT_TRUE(within(dGate, want[0], bothBounds(size, 16, want[0])));
  EXPECT_TRUE(within(dUp, want[1], bothBounds(want[1], 12, want[1])));
}

TEST_P(GpuOpsTest, RotationsAgreeWithThePinnedOnes) {
  const at::Tensor positions = integers({2, 9}, 4000, 4);
  const auto [cos, sin] = model::ropeTable(positions, 16, 10000.0);
  const auto [gotCos, gotSin] = gpu::ropeTable(positions, 16, 10000.0);
  // Both round a float64 of the same float32 angle.
  EXPECT_TRUE(within(gotCos, cos, f64(cos).abs() * kFloatUnit * 2 + 0x1p-50));
  EXPECT_TRUE(within(gotSin, sin, f64(sin).abs() * kFloatUnit * 2 + 0x1p-50));
  at::Tensor x = normal({2, 3, 9, 16}, 1, type).requires_grad_(true);
  const at::Tensor grad = normal({2, 3, 9, 16}, 2, type);
  const at::Tensor y = model::applyRope(x, cos, sin);
  const at::Tensor want = gradients(y, grad, {x})[0];
  const at::NoGradGuard frozen;
  const auto norm = [](const at::Tensor& t) {
    return f64(t).abs().view({2, 3, 9, 2, 8}).sum(3, true).expand({2, 3, 9, 2, 8}).reshape({2, 3, 9, 16});
  };
  EXPECT_TRUE(within(gpu::rope(x, cos, sin, false), y, bothBounds(norm(x), 3, y)));
  EXPECT_TRUE(within(gpu::rope(grad, cos, sin, true), want, bothBounds(norm(grad), 3, want)));
}

TEST_P(GpuOpsTest, CrossEntropyAgreesWithThePinnedOneAlsoWhereALabelIsIgnored) {
  constexpr std::int64_t kRows = 9, kWidth = 50;
  at::Tensor logits = normal({kRows, kWidth}, 1, type).mul_(4);
  logits.select(0, 3).zero_();  // all are largest
  logits.requires_grad_(true);
  at::Tensor labels = integers({kRows}, kWidth, 2);
  labels[5] = -1;
  const at::Tensor grad = normal({kRows}, 3);
  const auto [loss, argmax, probability] = model::crossEntropy(logits, labels);
  const at::Tensor want = gradients(loss, grad, {logits})[0];
  const at::NoGradGuard frozen;
  const auto [gotLoss, gotArgmax, gotProbability, lse] = gpu::crossEntropy(logits, labels);
  const at::Tensor size = f64(logits).abs().amax(1) + 8;
  EXPECT_TRUE(within(gotLoss, loss, bothBounds(size, kWidth, loss)));
  EXPECT_TRUE(at::equal(gotArgmax, argmax));
  EXPECT_EQ(gotArgmax[3].item<std::int64_t>(), 0);
  EXPECT_TRUE(within(gotProbability, probability, bothBounds(size, kWidth, probability)));
  EXPECT_EQ(gotLoss[5].item<float>(), 0.0f);
  const at::Tensor got = gpu::crossEntropyBackward(grad, logits, labels, lse);
  EXPECT_TRUE(within(got, want, bothBounds((f64(grad).abs() * size).unsqueeze(1), kWidth, want)));
  EXPECT_EQ(got[5].abs().max().item<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Types, GpuOpsTest, ::testing::Values(at::kFloat, at::kBFloat16));

TEST(GpuOptimizerTest, ThreeStepsAgreeWithThePinnedOnes) {
  const FusedEmulationScope kernels;
  at::Tensor p = normal({33}, 1), m = at::zeros({33}), v = at::zeros({33});
  at::Tensor pinnedP = p.clone(), pinnedM = m.clone(), pinnedV = v.clone();
  for (std::int64_t step = 1; step <= 3; ++step) {
    const at::Tensor grad = normal({33}, 10 + static_cast<std::uint64_t>(step));
    gpu::adamwStep(p, m, v, grad, 1e-2, 0.9, 0.95, 1e-8, 0.1, step);
    model::adamwStep(pinnedP, pinnedM, pinnedV, grad, 1e-2, 0.9, 0.95, 1e-8, 0.1, step);
  }
  EXPECT_TRUE(within(m, pinnedM, bothBounds(at::ones({33}) * 3, 12, m)));
  EXPECT_TRUE(within(v, pinnedV, bothBounds(pinnedV, 12, v)));
  // An update is at most a few learning rates; its error relative to it.
  EXPECT_TRUE(within(p, pinnedP, bothBounds(at::ones({33}) * 0.1 + pinnedP.abs(), 40, p)));
  EXPECT_THROW(gpu::adamwStep(p, m, v, p, 1e-2, 0.9, 0.95, 1e-8, 0.0, 0), std::exception);
}

TEST(GpuOptimizerTest, SumsAreTakenInFloat64AndAddsAreOneRounding) {
  const FusedEmulationScope kernels;
  const at::Tensor x = normal({5000}, 1);
  const double want = model::sumOfSquares(x);
  EXPECT_NEAR(gpu::sumOfSquares(x).item<double>(), want, want * 1e-14);
  EXPECT_EQ(gpu::sumOfSquares(at::empty({0})).item<double>(), 0.0);
  EXPECT_TRUE(sameBits(gpu::addExact(x, x.flip({0})), model::addExact(x, x.flip({0}))));
}

TEST(GpuOpsRegistryTest, EveryPinnedOperationHasOneForGpus) {
  ensureOperatorsRegistered();
  for (const char* name :
       {"linear", "linear_grad_input", "linear_grad_weight", "rms_norm", "rms_norm_backward", "silu_mul",
        "silu_mul_backward", "rope_table", "rope", "cross_entropy", "cross_entropy_backward", "adamw_step",
        "sum_of_squares", "sums_of_squares", "scale_all", "add_exact"}) {
    const auto schema = c10::Dispatcher::singleton().findSchema({std::string("redraft::") + name, ""});
    ASSERT_TRUE(schema.has_value()) << name;
    EXPECT_TRUE(schema->hasKernelForDispatchKey(c10::DispatchKey::CUDA)) << name;
  }
  // Those on lists have no kernel that a machine without a GPU could call.
  EXPECT_NO_THROW(findOperator<at::Tensor(at::TensorList)>("redraft::sums_of_squares"));
  EXPECT_NO_THROW(findOperator<void(at::TensorList, double)>("redraft::scale_all"));
}

}  // namespace
}  // namespace redraft::model::testing
