#include <functional>

#include "base/error.h"
#include "model/kernels/attention.h"
#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

void expectRefused(const std::function<void()>& call, const std::string& place, const std::string& text) {
  try {
    call();
    FAIL() << place << " accepted it";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_EQ(error.place(), place);
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
  }
}

const at::Tensor& x() {
  static const at::Tensor tensor = normal({4, 8}, 1);
  return tensor;
}

TEST(LinearMisuseTest, NamesBothShapesAndTypes) {
  expectRefused(
      [] {
        model::linear(x(), normal({3, 9}, 2));
      },
      "linear", "x float32 [4, 8] on cpu does not fit weight float32 [3, 9]");
  expectRefused([] { model::linear(x(), normal({3, 8}, 2, at::kBFloat16)); }, "linear", "the types must match");
  expectRefused([] { model::linear(x().to(at::kDouble), normal({3, 8}, 2)); }, "linear", "x is float64 [4, 8]");
  expectRefused([] { model::linear(x(), normal({8}, 2)); }, "linear", "it must be [out, in]");
  expectRefused([] { model::linear(at::ones({}), normal({3, 8}, 2)); }, "linear", "it must be [..., in]");
}

TEST(NormMisuseTest, WantsAWeightOfOneRow) {
  expectRefused([] { rmsNorm(x(), normal({9}, 2), 1e-6); }, "rmsNorm", "weight must be one row of x");
  expectRefused([] { rmsNorm(x(), normal({8}, 2, at::kBFloat16), 1e-6); }, "rmsNorm", "of its type");
}

TEST(ActivationMisuseTest, WantsEqualShapes) {
  expectRefused([] { siluMul(x(), normal({4, 7}, 2)); }, "siluMul", "gate and up must be alike");
}

TEST(RopeMisuseTest, WantsFourDimensionsAndItsTable) {
  const auto table = ropeTable(at::zeros({2, 5}, at::kLong), 8, 1e4);
  const at::Tensor &cos = std::get<0>(table), &sin = std::get<1>(table);
  expectRefused([&] { applyRope(x(), cos, sin); }, "applyRope", "it must be [B, heads, T, d]");
  expectRefused([&] { applyRope(normal({2, 3, 6, 8}, 1), cos, sin); }, "applyRope", "[B, T, d / 2]");
  expectRefused([] { ropeTable(at::zeros({5}, at::kLong), 8, 1e4); }, "ropeTable", "int64 [B, T]");
  expectRefused([] { ropeTable(at::zeros({2, 5}, at::kLong), 7, 1e4); }, "ropeTable", "head dim 7");
}

TEST(CrossEntropyMisuseTest, NamesTheLabelOutsideTheVocabulary) {
  expectRefused(
      [] {
        crossEntropy(x(), at::tensor({0, 7, 8, 1}, at::kLong));
      },
      "crossEntropy", "label 8 of row 2 is outside the vocabulary of 8");
  expectRefused([] { crossEntropy(x(), at::zeros({3}, at::kLong)); }, "crossEntropy", "int64 [R]");
  expectRefused(
      [] {
        crossEntropy(at::empty({2, 0}), at::zeros({2}, at::kLong));
      },
      "crossEntropy", "nothing to choose from");
}

TEST(OptimizerMisuseTest, WantsFloat32OfOneShapeAndStepsFromOne) {
  at::Tensor p = x().clone(), m = at::zeros({4, 8}), v = at::zeros({4, 8}), strided = at::zeros({8, 4}).t();
  const auto step = [&](at::Tensor& mean, const at::Tensor& grad, std::int64_t number) {
    adamwStep(p, mean, v, grad, 1e-3, 0.9, 0.999, 1e-8, 0.0, number);
  };
  expectRefused([&] { step(m, normal({4, 7}, 1), 1); }, "adamwStep", "grad is float32 [4, 7]");
  expectRefused([&] { step(m, x().to(at::kBFloat16), 1); }, "adamwStep", "grad is bfloat16");
  expectRefused([&] { step(strided, x(), 1); }, "adamwStep", "contiguous");
  expectRefused([&] { step(m, x(), 0); }, "adamwStep", "steps count from 1");
  expectRefused([] { addExact(x(), normal({4, 7}, 1)); }, "addExact", "b is float32 [4, 7]");
  expectRefused([] { sumOfSquares(x().to(at::kDouble)); }, "sumOfSquares", "x is float64");
}

TEST(MaskMisuseTest, NamesWhatIsWrong) {
  const at::Tensor anchors = at::zeros({2, 3}, at::kLong), keep = at::ones({2, 3}, at::kBool);
  expectRefused([&] { makeDraftMask(anchors.to(at::kInt), keep, 10, 4, 0); }, "makeDraftMask",
                "anchors are int32 [2, 3]");
  expectRefused([&] { makeDraftMask(anchors, keep.slice(1, 0, 2), 10, 4, 0); }, "makeDraftMask", "keep is bool [2, 2]");
  expectRefused([&] { makeDraftMask(anchors, keep, 10, 0, 0); }, "makeDraftMask", "block size 0");
  expectRefused([&] { makeDraftMask(anchors, keep, std::int64_t{1} << 40, 4, 0); }, "makeDraftMask", "too many keys");
  expectRefused([] { makeCausalMask(1, 5, 4, at::kCPU); }, "makeCausalMask", "at least as many keys as queries");
}

TEST(AttentionMisuseTest, NamesWhatIsWrong) {
  const BlockMask mask = makeCausalMask(2, 10, 20, at::kCPU);
  const at::Tensor q = normal({2, 4, 10, 16}, 1), k = normal({2, 2, 20, 16}, 2);
  const auto refused = [&](const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const char* text) {
    expectRefused([&] { attention(a, b, c, mask, 1.0); }, "attention", text);
    expectRefused([&] { attentionDense(a, b, c, mask, 1.0); }, "attention", text);
  };
  refused(q, k, k.to(at::kBFloat16), "types must match");
  refused(q.to(at::kHalf), k, k, "float32 and bfloat16 are supported");
  refused(q[0], k, k, "q must be [B, Hq, Q, d]");
  refused(q, k, k.slice(2, 0, 19), "k and v [B, Hkv, KV, d]");
  refused(q.slice(1, 0, 3), k, k, "a multiple of the key heads");
  refused(q.slice(3, 0, 12), k.slice(3, 0, 12), k.slice(3, 0, 12), "a multiple of 8");
  refused(q.slice(2, 0, 9), k, k, "the mask is for batch 2, 10 queries and 20 keys");
}

}  // namespace
}  // namespace redraft::model::testing
