// The GPU's attention, run on the CPU by the emulator, against dense attention in float64.
#include <ATen/ATen.h>

#include <cmath>

#include "model/kernels/attention.h"
#include "model/kernels/cuda/attention_backward.cuh"
#include "model/kernels/cuda/attention_forward.cuh"
#include "model/kernels/cuda/gpu_sources.h"
#include "tests/model/kernels/gpu_emulator.h"
#include "tests/model/kernels/gpu_reference.h"
#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

using gpu::BFloat16;

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

template <int D, MaskRule kRule>
Results expectTheDenseReference(const GpuCase& c) {
  const BlockMask mask = maskOf(c);
  const Inputs in = inputs(c, mask, D);
  Results got = emulate<D, kRule>(in, mask, ThreadOrder::kAscending);
  expectWithin(got, reference(in, mask));
  const at::Tensor lse = at::logsumexp(
      (at::matmul(f64(in.q), f64(in.k).repeat_interleave(c.heads / c.keyHeads, 1).transpose(2, 3)) * in.scale)
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
  const GpuCase c{1, 1, 1, 9, 16, 64, 0};
  BlockMask mask = maskOf(c);
  const at::Tensor none = at::zeros({1, c.blocks}, at::kBool);
  mask = makeDraftMask(mask.anchors.to(at::kLong), none, c.context, c.blockSize, 0);
  const Inputs in = inputs(c, mask, 16);
  const Results r = emulate<16, MaskRule::kDraftFull>(in, mask, ThreadOrder::kAscending);
  for (const at::Tensor& x : {r.out, r.gradQ, r.gradK, r.gradV}) EXPECT_TRUE(x.eq(0).all().item<bool>());
  EXPECT_TRUE(r.lse.eq(-HUGE_VAL).all().item<bool>());
}

TEST(GpuAttentionTest, TheOrderOfThreadsDoesNotShow) {
  const GpuCase c{1, 2, 1, 9, 16, 100, 5};
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
  const GpuCase c{1, 1, 1, 9, 16, 100, 0};
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
