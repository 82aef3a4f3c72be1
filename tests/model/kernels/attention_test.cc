#include "model/kernels/attention.h"

#include <cmath>
#include <optional>

#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

struct AttentionCase {
  std::int64_t batch, heads, keyHeads, headDim;
  std::int64_t blocks, blockSize, context;  // blocks 0: causal with blockSize queries and `context` keys
  std::int64_t window;
  at::ScalarType type = at::kFloat;
};

void PrintTo(const AttentionCase& c, std::ostream* out) {
  *out << "B" << c.batch << " H" << c.heads << "/" << c.keyHeads << " d" << c.headDim << " N" << c.blocks << " b"
       << c.blockSize << " S" << c.context << " W" << c.window << ' ' << c.type;
}

BlockMask maskOf(const AttentionCase& c) {
  if (c.blocks == 0) return makeCausalMask(c.batch, c.blockSize, c.context, at::kCPU);
  const at::Tensor anchors = std::get<0>(integers({c.batch, c.blocks}, c.context, 21).sort(1));
  return makeDraftMask(anchors, integers({c.batch, c.blocks}, 6, 22).ne(0), c.context, c.blockSize, c.window);
}

struct Tensors {
  at::Tensor q, k, v, grad;
};

Tensors inputs(const AttentionCase& c, const BlockMask& mask) {
  return {normal({c.batch, c.heads, mask.queries, c.headDim}, 1, c.type).requires_grad_(true),
          normal({c.batch, c.keyHeads, mask.keys, c.headDim}, 2, c.type).requires_grad_(true),
          normal({c.batch, c.keyHeads, mask.keys, c.headDim}, 3, c.type).requires_grad_(true),
          normal({c.batch, c.heads, mask.queries, c.headDim}, 4, c.type)};
}

/// Dense attention and its gradients in float64 with plain ATen, and bounds on a float32 kernel's error, first order:
/// scores take headDim + 1 roundings, exponents are rounded to (range · u), sums take one rounding a key and a tile.
struct Reference {
  at::Tensor out, dq, dk, dv;
  at::Tensor outBound, dqBound, dkBound, dvBound;
};

at::Tensor spread(const at::Tensor& x, std::int64_t group) { return x.repeat_interleave(group, 1); }
at::Tensor gather(const at::Tensor& x, std::int64_t group) {
  return x.view({x.size(0), x.size(1) / group, group, x.size(2), x.size(3)}).sum(2);
}

Reference reference(const AttentionCase& c, const Tensors& t, const BlockMask& mask, double scale) {
  const std::int64_t group = c.heads / c.keyHeads;
  const at::Tensor q = f64(t.q) * scale, k = spread(f64(t.k), group), v = spread(f64(t.v), group), g = f64(t.grad);
  const at::Tensor hidden = denseMask(mask).logical_not().unsqueeze(1), kt = k.transpose(2, 3);
  const at::Tensor scores = at::matmul(q, kt).masked_fill(hidden, -HUGE_VAL);
  const at::Tensor p = at::softmax(scores, -1).nan_to_num(0.0);
  const at::Tensor out = at::matmul(p, v), dp = at::matmul(g, v.transpose(2, 3));
  const at::Tensor delta = (g * out).sum(-1, true), ds = p * (dp - delta);

  const double tiles = std::ceil(static_cast<double>(mask.keys) / 64) + 1;
  const double keySum = static_cast<double>(mask.keys) + tiles, headSum = static_cast<double>(c.headDim) + 2;
  const double querySum = static_cast<double>(mask.queries * group) + 1;
  const at::Tensor size = at::matmul(q.abs(), kt.abs()).masked_fill(hidden, 0.0);
  const at::Tensor scoreError = std::get<0>(size.max(-1, true)) * gamma(headSum);
  const at::Tensor range = std::get<0>(scores.masked_fill(hidden, 0.0).abs().max(-1, true)) * 2;
  // Numerator and denominator each take the scores' errors, the exponents' and exp8's (2.2 u, once a tile).
  const at::Tensor pError = 2 * (scoreError + range * kFloatUnit) + gamma(6 * tiles) + gamma(keySum);
  const double store = storeUnit(c.type);
  const auto stored = [&](const at::Tensor& bound, const at::Tensor& value) {
    return bound * (1 + store) + value.abs() * store + std::exp(-87.3) * keySum;  // exp8 gives 0 below e^-87.3
  };

  const at::Tensor vAbs = v.abs(), gAbs = g.abs();
  const at::Tensor outError = at::matmul(p * pError, vAbs) + at::matmul(p, vAbs) * gamma(keySum);
  const at::Tensor dpSize = at::matmul(gAbs, vAbs.transpose(2, 3)), deltaSize = (gAbs * out.abs()).sum(-1, true);
  const at::Tensor deltaError = (gAbs * (outError + out.abs() * store)).sum(-1, true) + deltaSize * gamma(headSum);
  const at::Tensor dsError =
      p * (pError * (dp - delta).abs() + dpSize * gamma(headSum) + deltaError + (dp - delta).abs() * gamma(3));
  const at::Tensor kAbs = k.abs(), qAbs = q.abs(), dsT = ds.transpose(2, 3), dsErrorT = dsError.transpose(2, 3);
  const at::Tensor dqError = at::matmul(dsError, kAbs) + at::matmul(ds.abs(), kAbs) * gamma(keySum + 1);
  const at::Tensor dkError = at::matmul(dsErrorT, qAbs) + at::matmul(dsT.abs(), qAbs) * gamma(querySum);
  const at::Tensor pT = p.transpose(2, 3);
  const at::Tensor dvError = at::matmul((p * pError).transpose(2, 3), gAbs) + at::matmul(pT, gAbs) * gamma(querySum);

  Reference r{
      out, at::matmul(ds, k) * scale, gather(at::matmul(dsT, q), group), gather(at::matmul(pT, g), group), {}, {}, {},
      {}};
  r.outBound = stored(outError, r.out);
  r.dqBound = stored(dqError * scale, r.dq);
  r.dkBound = stored(gather(dkError, group), r.dk);
  r.dvBound = stored(gather(dvError, group), r.dv);
  return r;
}

class AttentionTest : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionTest, ForwardAndBackwardStayWithinTheirBounds) {
  const AttentionCase c = GetParam();
  const BlockMask mask = maskOf(c);
  const Tensors t = inputs(c, mask);
  const double scale = 1.0 / std::sqrt(static_cast<double>(c.headDim));
  const at::Tensor out = attention(t.q, t.k, t.v, mask, scale);
  const auto got = gradients(out, t.grad, {t.q, t.k, t.v});
  const Reference want = reference(c, t, mask, static_cast<float>(scale));
  EXPECT_TRUE(within(out, want.out, want.outBound));
  EXPECT_TRUE(within(got[0], want.dq, want.dqBound));
  EXPECT_TRUE(within(got[1], want.dk, want.dkBound));
  EXPECT_TRUE(within(got[2], want.dv, want.dvBound));
  EXPECT_EQ(out.scalar_type(), c.type);
  EXPECT_EQ(got[1].scalar_type(), c.type);
}

INSTANTIATE_TEST_SUITE_P(
    Draft, AttentionTest,
    ::testing::Values(AttentionCase{1, 1, 1, 8, 1, 1, 1, 0}, AttentionCase{2, 4, 2, 8, 9, 7, 100, 0},
                      AttentionCase{2, 4, 2, 16, 9, 7, 100, 20}, AttentionCase{1, 4, 1, 32, 8, 16, 256, 0},
                      AttentionCase{1, 6, 3, 64, 13, 8, 300, 0}, AttentionCase{2, 2, 2, 64, 13, 8, 300, 64},
                      AttentionCase{1, 2, 1, 128, 5, 16, 200, 0}, AttentionCase{1, 2, 1, 24, 9, 7, 100, 0},
                      AttentionCase{1, 2, 1, 48, 9, 7, 100, 31},
                      AttentionCase{2, 4, 2, 64, 9, 7, 100, 20, at::kBFloat16},
                      AttentionCase{1, 2, 1, 24, 9, 7, 100, 0, at::kBFloat16}));
INSTANTIATE_TEST_SUITE_P(Causal, AttentionTest,
                         ::testing::Values(AttentionCase{2, 4, 2, 32, 0, 130, 130, 0},
                                           AttentionCase{1, 2, 1, 64, 0, 1, 300, 0},
                                           AttentionCase{1, 2, 2, 16, 0, 70, 200, 0},
                                           AttentionCase{2, 4, 2, 64, 0, 130, 130, 0, at::kBFloat16}));

TEST(AttentionDenseTest, AgreesWithTheCompiledKernelOnTheSameInputs) {
  const AttentionCase c{2, 4, 2, 32, 9, 7, 100, 20};
  const BlockMask mask = maskOf(c);
  const Tensors t = inputs(c, mask);
  const at::Tensor out = attentionDense(t.q, t.k, t.v, mask, 0.25);
  const auto got = gradients(out, t.grad, {t.q, t.k, t.v});
  const Reference want = reference(c, t, mask, 0.25);
  EXPECT_TRUE(within(out, want.out, want.outBound));
  EXPECT_TRUE(within(got[0], want.dq, want.dqBound));
  EXPECT_TRUE(within(got[1], want.dk, want.dkBound));
  EXPECT_TRUE(within(got[2], want.dv, want.dvBound));
}

TEST(AttentionMaskTest, DroppedBlocksGiveZeroRowsAndZeroGradients) {
  at::Tensor keep = at::ones({1, 6}, at::kBool);
  keep[0][2] = false;
  const BlockMask mask = makeDraftMask(integers({1, 6}, 90, 5), keep, 90, 8, 0);
  at::Tensor q = normal({1, 2, 48, 16}, 1).requires_grad_(true), k = normal({1, 2, 138, 16}, 2).requires_grad_(true),
             v = normal({1, 2, 138, 16}, 3).requires_grad_(true);
  const at::Tensor out = attention(q, k, v, mask, 0.25);
  const auto got = gradients(out, normal({1, 2, 48, 16}, 4), {q, k, v});
  const at::Tensor zeroRows = at::zeros({1, 2, 8, 16});
  EXPECT_TRUE(sameBits(out.slice(2, 16, 24), zeroRows));
  EXPECT_TRUE(sameBits(got[0].slice(2, 16, 24).abs(), zeroRows));
  EXPECT_TRUE(sameBits(got[1].slice(2, 90 + 16, 90 + 24), zeroRows));
  EXPECT_TRUE(sameBits(got[2].slice(2, 90 + 16, 90 + 24), zeroRows));
}

TEST(AttentionMaskTest, HiddenKeysDoNotMoveABit) {
  const BlockMask mask = makeDraftMask(at::full({1, 4}, 50, at::kLong), at::ones({1, 4}, at::kBool), 90, 8, 0);
  const at::Tensor q = normal({1, 2, 32, 16}, 1), k = normal({1, 2, 122, 16}, 2), v = normal({1, 2, 122, 16}, 3);
  at::Tensor otherK = k.clone(), otherV = v.clone();
  otherK.slice(2, 50, 90).fill_(77.0);
  otherV.slice(2, 50, 90).fill_(-5.0);
  EXPECT_TRUE(sameBits(attention(q, k, v, mask, 0.25), attention(q, otherK, otherV, mask, 0.25)));
}

TEST(AttentionValueTest, LargeScoresNeitherOverflowNorLoseNan) {
  const BlockMask mask = makeCausalMask(1, 70, 70, at::kCPU);
  at::Tensor q = normal({1, 1, 70, 8}, 1) * 200, k = normal({1, 1, 70, 8}, 2) * 200, v = normal({1, 1, 70, 8}, 3);
  EXPECT_TRUE(attention(q, k, v, mask, 1.0).isfinite().all().item().toBool());
  k[0][0][40][3] = std::nanf("");
  const at::Tensor out = attention(q, k, v, mask, 1.0);
  EXPECT_TRUE(out.slice(2, 0, 40).isfinite().all().item().toBool());
  EXPECT_TRUE(out.slice(2, 40).isnan().all().item().toBool());
}

TEST(AttentionShapeTest, TakesStridedInputsAndEmptyOnes) {
  const BlockMask mask = makeCausalMask(2, 30, 30, at::kCPU);
  const auto heads = [](std::uint64_t seed) { return normal({2, 30, 4, 16}, seed).transpose(1, 2); };
  const at::Tensor q = heads(1), k = heads(2), v = heads(3);
  EXPECT_TRUE(
      sameBits(attention(q, k, v, mask, 0.25), attention(q.contiguous(), k.contiguous(), v.contiguous(), mask, 0.25)));
  const BlockMask none = makeDraftMask(at::empty({2, 0}, at::kLong), at::empty({2, 0}, at::kBool), 30, 16, 0);
  at::Tensor noQ = at::empty({2, 4, 0, 16}).requires_grad_(true), liveK = k.detach().clone().requires_grad_(true);
  const at::Tensor out = attention(noQ, liveK, v, none, 0.25);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({2, 4, 0, 16}));
  EXPECT_TRUE(sameBits(gradients(out, at::empty_like(out), {liveK})[0], at::zeros_like(liveK)));
}

TEST(AttentionSwitchTest, CompileDisabledRunsTheDensePath) {
  const BlockMask mask = makeCausalMask(1, 30, 30, at::kCPU);
  const at::Tensor q = normal({1, 2, 30, 16}, 1), k = normal({1, 2, 30, 16}, 2), v = normal({1, 2, 30, 16}, 3);
  const at::Tensor dense = attentionDense(q, k, v, mask, 0.25);
  setCompiledAttention(false);
  const at::Tensor switched = attention(q, k, v, mask, 0.25);
  setCompiledAttention(true);
  EXPECT_TRUE(sameBits(switched, dense));
}

}  // namespace
}  // namespace redraft::model::testing
