// The GPU's attention, run on the CPU by the emulator, against dense attention in float64.
#include <ATen/ATen.h>

#include <cmath>

#include "model/kernels/attention.h"
#include "model/kernels/cuda/attention_backward.cuh"
#include "model/kernels/cuda/attention_forward.cuh"
#include "model/kernels/cuda/gpu_sources.h"
#include "tests/model/kernels/gpu_emulator.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

using gpu::BFloat16;

struct Case {
  std::int64_t batch, heads, keyHeads;
  std::int64_t blocks, blockSize, context;  // blocks 0: causal with blockSize queries and `context` keys
  std::int64_t window;
};

BlockMask maskOf(const Case& c) {
  if (c.blocks == 0) return makeCausalMask(c.batch, c.blockSize, c.context, at::kCPU);
  const at::Tensor anchors = integers({c.batch, c.blocks}, c.context, 21);
  return makeDraftMask(anchors, integers({c.batch, c.blocks}, 6, 22).ne(0), c.context, c.blockSize, c.window);
}

struct Inputs {
  at::Tensor q, k, v, grad;
  double scale;
};

Inputs inputs(const Case& c, const BlockMask& mask, std::int64_t dim) {
  return {normal({c.batch, c.heads, mask.queries, dim}, 1, at::kBFloat16),
          normal({c.batch, c.keyHeads, mask.keys, dim}, 2, at::kBFloat16),
          normal({c.batch, c.keyHeads, mask.keys, dim}, 3, at::kBFloat16),
          normal({c.batch, c.heads, mask.queries, dim}, 4, at::kBFloat16), 1.0 / std::sqrt(static_cast<double>(dim))};
}

AttentionShape shapeOf(const Inputs& in, const BlockMask& mask) {
  return {in.q.size(0),
          in.q.size(1),
          in.k.size(1),
          mask.queries,
          mask.keys,
          in.q.size(3),
          mask.context,
          mask.blockSize,
          mask.window,
          mask.anchors.size(1),
          static_cast<float>(in.scale)};
}

struct Results {
  at::Tensor out, lse, gradQ, gradK, gradV;
};

const BFloat16* read(const at::Tensor& x) { return static_cast<const BFloat16*>(x.const_data_ptr()); }
BFloat16* write(const at::Tensor& x) { return static_cast<BFloat16*>(x.mutable_data_ptr()); }

/// Outputs begin as NaN, so that an element left out shows.
at::Tensor unwritten(const at::Tensor& like) { return at::full_like(like, NAN); }

template <int D, MaskRule kRule>
Results emulate(const Inputs& in, const BlockMask& mask, ThreadOrder order) {
  const AttentionShape shape = shapeOf(in, mask);
  Results r{unwritten(in.q), at::full({shape.batch, shape.heads, shape.queries}, NAN, at::kFloat), unwritten(in.q),
            unwritten(in.k), unwritten(in.v)};
  const at::Tensor delta = at::full_like(r.lse, NAN);
  const auto* offsets = mask.rowOffsets.const_data_ptr<std::int32_t>();
  const auto* columns = reinterpret_cast<const std::uint32_t*>(mask.columns.const_data_ptr<std::int32_t>());
  const auto* anchors = mask.anchors.const_data_ptr<std::int32_t>();
  const auto* keep = mask.keep.const_data_ptr<std::uint8_t>();
  float* lse = r.lse.mutable_data_ptr<float>();
  emulateLaunch(gpu::launches(gpu::Program::kAttentionForward, shape).at(0).shape, order, [&] {
    gpu::attentionForward<D, kRule>(read(in.q), read(in.k), read(in.v), write(r.out), lse, offsets, columns, anchors,
                                    keep, shape);
  });
  const gpu::BackwardArguments a{
      read(in.q),     read(in.k),     read(in.v), read(r.out), lse,     read(in.grad), write(r.gradQ),
      write(r.gradK), write(r.gradV), offsets,    columns,     anchors, keep,          delta.mutable_data_ptr<float>()};
  const auto plan = gpu::launches(gpu::Program::kAttentionBackward, shape);
  emulateLaunch(plan.at(0).shape, order, [&] { gpu::attentionBackwardQueries<D, kRule>(a, shape); });
  emulateLaunch(plan.at(1).shape, order, [&] { gpu::attentionBackwardKeys<D, kRule>(a, shape); });
  return r;
}

at::Tensor spread(const at::Tensor& x, std::int64_t group) { return x.repeat_interleave(group, 1); }
at::Tensor gather(const at::Tensor& x, std::int64_t group) {
  return x.view({x.size(0), x.size(1) / group, group, x.size(2), x.size(3)}).sum(2);
}

/// The reference and the bounds of docs/kernels.md, "On a GPU", with the same names.
struct Bounded {
  at::Tensor want, bound;
};
struct Reference {
  Bounded out, gradQ, gradK, gradV;
};

Reference reference(const Inputs& in, const BlockMask& mask) {
  constexpr double u = kBFloatUnit, e = kFloatUnit;
  const std::int64_t group = in.q.size(1) / in.k.size(1), dim = in.q.size(3);
  const at::Tensor q = f64(in.q), g = f64(in.grad), k = spread(f64(in.k), group), v = spread(f64(in.v), group);
  const at::Tensor kt = k.transpose(2, 3), vt = v.transpose(2, 3);
  const at::Tensor scores = at::matmul(q, kt) * in.scale;
  const at::Tensor p =
      at::softmax(scores.masked_fill(denseMask(mask).logical_not().unsqueeze(1), -HUGE_VAL), -1).nan_to_num(0.0);
  const at::Tensor out = at::matmul(p, v), dp = at::matmul(g, vt), delta = (g * out).sum(-1, true);
  const at::Tensor ds = p * (dp - delta);

  // η: relative error of a probability. Scores: dim + 3 roundings, twice (a tensor core may truncate); exp2: 2^-22.
  const at::Tensor score = at::matmul(q.abs(), kt.abs()) * in.scale;
  const double sums = 2.0 * gamma(static_cast<double>(mask.keys + dim) + 8.0);
  const at::Tensor eta = score * (4.0 * gamma(static_cast<double>(dim) + 3.0)) + 0x1p-20 + sums;
  const at::Tensor outBound = at::matmul(p * (eta + u), v.abs()) + out.abs() * (u + sums);
  const at::Tensor dpBound = at::matmul(g.abs(), vt.abs()) * sums;
  const at::Tensor deltaBound = (g.abs() * (outBound + out.abs() * gamma(static_cast<double>(dim)))).sum(-1, true);
  const at::Tensor dsBound = p * (2.0 * eta * (dp - delta).abs() + dpBound + deltaBound) + ds.abs() * (u + 4.0 * e);
  const auto summed = [&](const at::Tensor& x) { return x * (1.0 + sums); };
  Reference r;
  r.out = {out, outBound};
  r.gradQ.want = at::matmul(ds, k) * in.scale;
  r.gradQ.bound = summed(at::matmul(dsBound + ds.abs() * sums, k.abs()) * in.scale) + r.gradQ.want.abs() * u;
  r.gradK.want = gather(at::matmul(ds.transpose(2, 3), q), group) * in.scale;
  r.gradK.bound = summed(gather(at::matmul((dsBound + ds.abs() * sums).transpose(2, 3), q.abs()), group) * in.scale) +
                  r.gradK.want.abs() * u;
  r.gradV.want = gather(at::matmul(p.transpose(2, 3), g), group);
  r.gradV.bound =
      summed(gather(at::matmul((p * (2.0 * eta + u + sums)).transpose(2, 3), g.abs()), group)) + r.gradV.want.abs() * u;
  return r;
}

void expectWithin(const Results& got, const Reference& want) {
  EXPECT_TRUE(within(got.out, want.out.want, want.out.bound)) << "out";
  EXPECT_TRUE(within(got.gradQ, want.gradQ.want, want.gradQ.bound)) << "dq";
  EXPECT_TRUE(within(got.gradK, want.gradK.want, want.gradK.bound)) << "dk";
  EXPECT_TRUE(within(got.gradV, want.gradV.want, want.gradV.bound)) << "dv";
}

template <int D, MaskRule kRule>
Results expectTheDenseReference(const Case& c) {
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, D);
  const Results got = emulate<D, kRule>(in, mask, ThreadOrder::kAscending);
  expectWithin(got, reference(in, mask));
  const at::Tensor lse =
      at::logsumexp((at::matmul(f64(in.q), spread(f64(in.k), c.heads / c.keyHeads).transpose(2, 3)) * in.scale)
                        .masked_fill(denseMask(mask).logical_not().unsqueeze(1), -HUGE_VAL),
                    -1);
  EXPECT_TRUE(at::allclose(f64(got.lse), lse, 1e-5, 1e-5));
  return got;
}

TEST(GpuAttentionTest, DraftFullIsTheDenseReference) {
  expectTheDenseReference<64, MaskRule::kDraftFull>({1, 2, 1, 9, 16, 100, 0});
}
TEST(GpuAttentionTest, DraftSlidingIsTheDenseReference) {
  expectTheDenseReference<64, MaskRule::kDraftSliding>({1, 2, 1, 9, 16, 200, 70});
}
TEST(GpuAttentionTest, CausalIsTheDenseReference) {
  expectTheDenseReference<64, MaskRule::kCausal>({1, 2, 2, 0, 100, 170, 0});
}
TEST(GpuAttentionTest, EveryHeadDimIsTheDenseReference) {
  expectTheDenseReference<16, MaskRule::kDraftSliding>({2, 3, 1, 9, 8, 70, 4});
  expectTheDenseReference<32, MaskRule::kDraftFull>({1, 2, 1, 11, 7, 70, 0});
  expectTheDenseReference<128, MaskRule::kDraftFull>({1, 1, 1, 5, 16, 130, 0});
}

TEST(GpuAttentionTest, SixQueryTilesByFullTilesOfContext) {
  // Anchors far behind the context's begin: most tiles are full.
  expectTheDenseReference<16, MaskRule::kDraftFull>({1, 2, 1, 24, 16, 512, 0});
}

TEST(GpuAttentionTest, QueriesThatSeeNothingGiveZeros) {
  const Case c{1, 1, 1, 9, 16, 64, 0};
  BlockMask mask = maskOf(c);
  const at::Tensor none = at::zeros({1, c.blocks}, at::kBool);
  mask = makeDraftMask(mask.anchors.to(at::kLong), none, c.context, c.blockSize, 0);
  const Inputs in = inputs(c, mask, 16);
  const Results r = emulate<16, MaskRule::kDraftFull>(in, mask, ThreadOrder::kAscending);
  for (const at::Tensor& x : {r.out, r.gradQ, r.gradK, r.gradV}) EXPECT_TRUE(x.eq(0).all().item<bool>());
  EXPECT_TRUE(r.lse.eq(-HUGE_VAL).all().item<bool>());
}

TEST(GpuAttentionTest, TheOrderOfThreadsDoesNotShow) {
  const Case c{1, 2, 1, 9, 16, 100, 5};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 32);
  const Results a = emulate<32, MaskRule::kDraftSliding>(in, mask, ThreadOrder::kAscending);
  const Results b = emulate<32, MaskRule::kDraftSliding>(in, mask, ThreadOrder::kDescending);
  EXPECT_TRUE(sameBits(a.out, b.out));
  EXPECT_TRUE(sameBits(a.gradQ, b.gradQ));
  EXPECT_TRUE(sameBits(a.gradK, b.gradK));
  EXPECT_TRUE(sameBits(a.gradV, b.gradV));
}

TEST(GpuAttentionTest, TheBoundsSeeAKeyTooManyAndALostTile) {
  const Case c{1, 1, 1, 9, 16, 100, 0};
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, 32);
  const Reference want = reference(in, mask);
  BlockMask other = mask;
  other.anchors = (mask.anchors + 1).clamp_max(c.context);
  const Results shifted = emulate<32, MaskRule::kDraftFull>(in, other, ThreadOrder::kAscending);
  EXPECT_FALSE(within(shifted.out, want.out.want, want.out.bound));
  EXPECT_FALSE(within(shifted.gradV, want.gradV.want, want.gradV.bound));
  other = mask;
  other.rowOffsets = mask.rowOffsets.clone();
  other.rowOffsets[1].sub_(1);  // the first row loses its last tile
  const Results lost = emulate<32, MaskRule::kDraftFull>(in, other, ThreadOrder::kAscending);
  EXPECT_FALSE(within(lost.gradQ, want.gradQ.want, want.gradQ.bound));
}

}  // namespace
}  // namespace redraft::model::testing
