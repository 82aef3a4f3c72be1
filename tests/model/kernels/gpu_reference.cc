#include "tests/model/kernels/gpu_reference.h"

#include <ATen/ATen.h>

#include <cmath>

#include "tests/model/kernels/kernels_testing.h"

namespace redraft::model::testing {
namespace {

at::Tensor spread(const at::Tensor& x, std::int64_t group) { return x.repeat_interleave(group, 1); }
at::Tensor gather(const at::Tensor& x, std::int64_t group) {
  return x.view({x.size(0), x.size(1) / group, group, x.size(2), x.size(3)}).sum(2);
}

}  // namespace

BlockMask maskOf(const GpuCase& c) {
  if (c.blocks == 0) return makeCausalMask(c.batch, c.blockSize, c.context, at::kCPU);
  const at::Tensor anchors = integers({c.batch, c.blocks}, c.context, 21);
  return makeDraftMask(anchors, integers({c.batch, c.blocks}, 6, 22).ne(0), c.context, c.blockSize, c.window);
}

Inputs inputs(const GpuCase& c, const BlockMask& mask, std::int64_t dim) {
  return {normal({c.batch, c.heads, mask.queries, dim}, 1, at::kBFloat16),
          normal({c.batch, c.keyHeads, mask.keys, dim}, 2, at::kBFloat16),
          normal({c.batch, c.keyHeads, mask.keys, dim}, 3, at::kBFloat16),
          normal({c.batch, c.heads, mask.queries, dim}, 4, at::kBFloat16), 1.0 / std::sqrt(static_cast<double>(dim))};
}

/// The names are those of docs/kernels.md.
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
  EXPECT_TRUE(within(got.out.cpu(), want.out.want, want.out.bound)) << "out";
  EXPECT_TRUE(within(got.gradQ.cpu(), want.gradQ.want, want.gradQ.bound)) << "dq";
  EXPECT_TRUE(within(got.gradK.cpu(), want.gradK.want, want.gradK.bound)) << "dk";
  EXPECT_TRUE(within(got.gradV.cpu(), want.gradV.want, want.gradV.bound)) << "dv";
}

}  // namespace redraft::model::testing
