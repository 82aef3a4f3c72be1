// Every operation's bits: the same for any thread count, and the ones pinned here on any machine. A pinned hash changes
// only with kKernelsVersion.

#include <ATen/Parallel.h>

#include <functional>

#include "model/kernels/attention.h"
#include "model/kernels/ops.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

using Results = std::vector<at::Tensor>;

struct Operation {
  const char* name;
  std::function<Results(at::ScalarType)> run;
  const char* pinnedFloat;
  const char* pinnedBFloat;
};

void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

Results withGradients(const at::Tensor& out, std::uint64_t seed, const Results& inputs) {
  Results results = gradients(out, normal(out.sizes(), seed, out.scalar_type()), inputs);
  results.push_back(out);
  return results;
}

Results linearResults(at::ScalarType type) {
  at::Tensor x = normal({203, 520}, 1, type).requires_grad_(true), w = normal({301, 520}, 2, type).requires_grad_(true);
  return withGradients(model::linear(x, w), 3, {x, w});
}

Results normResults(at::ScalarType type) {
  at::Tensor x = normal({403, 333}, 1, type).requires_grad_(true), w = normal({333}, 2, type).requires_grad_(true);
  return withGradients(rmsNorm(x, w, 1e-6), 3, {x, w});
}

Results siluResults(at::ScalarType type) {
  at::Tensor gate = (normal({101, 999}, 1) * 5).to(type).requires_grad_(true);
  at::Tensor up = normal({101, 999}, 2, type).requires_grad_(true);
  return withGradients(siluMul(gate, up), 3, {gate, up});
}

Results ropeResults(at::ScalarType type) {
  const auto [cos, sin] = ropeTable(integers({2, 301}, 40000, 1), 64, 1e6);
  at::Tensor x = normal({2, 5, 301, 64}, 2, type).requires_grad_(true);
  Results results = withGradients(applyRope(x, cos, sin), 3, {x});
  results.insert(results.end(), {cos, sin});
  return results;
}

Results crossEntropyResults(at::ScalarType type) {
  at::Tensor logits = (normal({203, 1003}, 1) * 4).to(type).requires_grad_(true);
  const auto [loss, argmax, probability] = crossEntropy(logits, integers({203}, 1003, 2));
  Results results = withGradients(loss, 3, {logits});
  results.insert(results.end(), {argmax, probability});
  return results;
}

Results optimizerResults(at::ScalarType type) {
  at::Tensor p = normal({100003}, 1), m = at::zeros({100003}), v = at::zeros({100003});
  for (int step = 1; step <= 3; ++step) {
    adamwStep(p, m, v, normal({100003}, static_cast<std::uint64_t>(step) + 1), 6e-4, 0.9, 0.95, 1e-8, 0.01, step);
  }
  const double squares = sumOfSquares(p.to(type));
  return {p, m, v, addExact(p, m), at::full({}, squares, at::kDouble)};
}

Results attentionResults(at::ScalarType type, const BlockMask& mask) {
  at::Tensor q = normal({mask.batch, 4, mask.queries, 32}, 1, type).requires_grad_(true);
  at::Tensor k = normal({mask.batch, 2, mask.keys, 32}, 2, type).requires_grad_(true);
  at::Tensor v = normal({mask.batch, 2, mask.keys, 32}, 3, type).requires_grad_(true);
  Results results = withGradients(attention(q, k, v, mask, 0.177), 4, {q, k, v});
  results.insert(results.end(), {mask.rowOffsets, mask.columns});
  return results;
}

Results draftResults(at::ScalarType type) {
  const at::Tensor anchors = integers({3, 21}, 333, 5), keep = integers({3, 21}, 7, 6).ne(0);
  Results results = attentionResults(type, makeDraftMask(anchors, keep, 333, 12, 0));
  const Results sliding = attentionResults(type, makeDraftMask(anchors, keep, 333, 12, 80));
  results.insert(results.end(), sliding.begin(), sliding.end());
  return results;
}

Results causalResults(at::ScalarType type) { return attentionResults(type, makeCausalMask(3, 260, 301, at::kCPU)); }

class BitsTest : public ::testing::TestWithParam<Operation> {
 protected:
  ~BitsTest() override { at::set_num_threads(threads_); }
  const int threads_ = at::get_num_threads();
};

TEST_P(BitsTest, AreTheSameForAnyThreadCount) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    at::set_num_threads(1);
    const Results one = GetParam().run(type);
    for (const int threads : {2, 3}) {
      at::set_num_threads(threads);
      const Results more = GetParam().run(type);
      ASSERT_EQ(more.size(), one.size());
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(sameBits(more[i], one[i])) << type << ", " << threads << " threads, result " << i;
      }
    }
  }
}

TEST_P(BitsTest, AreThePinnedOnesOnThisMachine) {
  EXPECT_EQ(bitsOf(GetParam().run(at::kFloat)), GetParam().pinnedFloat);
  EXPECT_EQ(bitsOf(GetParam().run(at::kBFloat16)), GetParam().pinnedBFloat);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, BitsTest,
    ::testing::Values(
        Operation{"linear", linearResults, "483573a6c29ec99664366dc7e988e14e", "37319008fc64ee07bea9e86622baef13"},
        Operation{"rmsNorm", normResults, "9165bb4e322333685992139ae248c245", "5c30ffd0721bec87b85a8e4a85885e97"},
        Operation{"siluMul", siluResults, "76fa4923268f63e5cde86465f22616a1", "748a4d9675f58c82153a8d2656eb8edb"},
        Operation{"rope", ropeResults, "86f376c786c41ab167a19a5b38626337", "80f9e5e56e2d43fc32cdee11f7d77686"},
        Operation{"crossEntropy", crossEntropyResults, "72cefa3c90449362255e89aecc578983",
                  "a9484f4d05dece3f65b5700a6fd6dd9a"},
        Operation{"optimizer", optimizerResults, "6c08c1f7a3b85316beda562006546bb7",
                  "e6c31f92de1b41fbb34776b3864b2422"},
        Operation{"attentionDraft", draftResults, "29cf4fe5c7e431bc0a31412564fd47b2",
                  "61ca688af73b32a1a549d4fc4cd3bf45"},
        Operation{"attentionCausal", causalResults, "6d5ceb69b68082d02bf15d571a5e0054",
                  "c5e2aa75f7578979e25826521f2eb3f5"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace redraft::model::testing
