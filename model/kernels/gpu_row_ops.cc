// Norms, activation, rotation and cross-entropy on GPU tensors: checks, layouts and launches of row_ops.cu.
#include <ATen/ATen.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

#include "model/kernels/cuda/cross_entropy.cuh"
#include "model/kernels/cuda/pointwise.cuh"
#include "model/kernels/cuda/rms_norm.cuh"
#include "model/kernels/gpu_ops.h"
#include "model/kernels/gpu_program.h"
#include "model/kernels/gpu_tensors.h"
#include "model/kernels/registry.h"

namespace redraft::model::gpu {
namespace {

void launchRows(const at::Tensor& on, const char* entry, std::int64_t blocks, int threads, unsigned shared,
                const void* argument) {
  TORCH_CHECK(blocks <= std::numeric_limits<std::int32_t>::max(), entry, ": too many elements for one launch");
  const devices::LaunchShape shape{
      {static_cast<unsigned>(blocks), 1, 1}, {static_cast<unsigned>(threads), 1, 1}, shared};
  launchFused(on.device(), {FusedProgram::kRowOps, on.scalar_type(), entry, shape, argument});
}

std::int64_t blocksOf(std::int64_t items, std::int64_t each) { return (items + each - 1) / each; }

/// Of one element type, and on one device: kernels ask no further.
void requireAlike(const char* operation, const at::Tensor& first, std::initializer_list<at::Tensor> others) {
  elementOf(first, operation, "the first argument");
  for (const at::Tensor& other : others) {
    requireSameDevice(operation, first, other);
    require(other.scalar_type() == first.scalar_type(), operation,
            "types must match, but are " + describe(first) + " and " + describe(other));
  }
}

void requireFloatOn(const char* operation, const at::Tensor& first, std::initializer_list<at::Tensor> others) {
  for (const at::Tensor& other : others) {
    requireSameDevice(operation, first, other);
    require(other.scalar_type() == at::kFloat, operation, "expected float32, not " + describe(other));
  }
}

/// Whether every row of `width` elements begins with a whole pack.
bool wholeRows(std::int64_t width, std::initializer_list<at::Tensor> tensors) {
  return width % kPack == 0 && std::all_of(tensors.begin(), tensors.end(), startsPack);
}

/// A tensor whose rows (its last dimension) have no gaps, and where they lie.
struct Rows {
  at::Tensor tensor;
  RowLayout layout;
  bool whole = true;  // rows are as far apart as packs are
};

std::optional<RowLayout> layoutOf(const at::Tensor& x) {
  if (x.dim() > 4 || x.dim() < 1 || (x.stride(-1) != 1 && x.size(-1) > 1)) return std::nullopt;
  RowLayout layout;
  const std::int64_t outer = x.dim() - 1;
  if (outer >= 1) layout.s2 = x.stride(outer - 1), layout.n2 = static_cast<std::uint32_t>(x.size(outer - 1));
  if (outer >= 2) layout.s1 = x.stride(outer - 2), layout.n1 = static_cast<std::uint32_t>(x.size(outer - 2));
  if (outer >= 3) layout.s0 = x.stride(0);
  return layout;
}

Rows rowsOf(const at::Tensor& x) {
  Rows rows;
  rows.tensor = x;
  std::optional<RowLayout> layout = layoutOf(x);
  if (!layout) {
    rows.tensor = x.contiguous();
    layout = layoutOf(rows.tensor.view({-1, std::max<std::int64_t>(x.size(-1), 1)}));
  }
  rows.layout = *layout;
  rows.whole = layout->s0 % kPack == 0 && layout->s1 % kPack == 0 && layout->s2 % kPack == 0;
  return rows;
}

struct Size {
  std::uint32_t rows;
  int width;
};
/// Of a tensor seen as rows; kernels count rows in 32 bits.
Size sizeOf(const char* operation, const at::Tensor& x) {
  const std::int64_t width = x.size(-1), rows = width == 0 ? 0 : x.numel() / width;
  require(rows <= std::numeric_limits<std::int32_t>::max() && width <= std::numeric_limits<std::int32_t>::max() / 2,
          operation, "too large: " + describe(x));
  return {static_cast<std::uint32_t>(rows), static_cast<int>(width)};
}

at::Tensor fresh(const at::Tensor& like) { return at::empty(like.sizes(), like.options()); }
at::Tensor nothing(const at::Tensor& like) { return at::empty({0}, like.options()); }

void requireNormShapes(const at::Tensor& x, const at::Tensor& weight) {
  requireAlike("rmsNorm", x, {weight});
  require(x.dim() >= 1 && weight.dim() == 1 && weight.size(0) == x.size(-1), "rmsNorm",
          "x is " + describe(x) + " and weight " + describe(weight) + "; weight must be one row of x");
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> rmsNorm(const at::Tensor& x, const at::Tensor& weightIn, double eps) {
  requireNormShapes(x, weightIn);
  const Size size = sizeOf("rmsNorm", x);
  const Rows rows = rowsOf(x);
  const at::Tensor weight = weightIn.contiguous(), y = fresh(x);
  const at::Tensor rms = at::empty({size.rows}, x.options().dtype(at::kFloat));
  const bool whole = rows.whole && wholeRows(size.width, {rows.tensor, weight, y});
  const RmsNormForward a{rows.tensor.const_data_ptr(),
                         weight.const_data_ptr(),
                         y.mutable_data_ptr(),
                         rms.mutable_data_ptr<float>(),
                         rows.layout,
                         size.rows,
                         size.width,
                         static_cast<float>(eps),
                         whole ? 1 : 0};
  launchRows(x, "rms_norm_forward", blocksOf(size.rows, kNormWarps), kNormThreads, 0, &a);
  return {y, rms};
}

std::tuple<at::Tensor, at::Tensor> rmsNormBackward(const at::Tensor& grad, const at::Tensor& x,
                                                   const at::Tensor& weightIn, const at::Tensor& rms, bool wantInput,
                                                   bool wantWeight) {
  requireNormShapes(x, weightIn);
  requireAlike("rmsNorm", x, {grad});
  requireFloatOn("rmsNorm", x, {rms});
  require(grad.sizes() == x.sizes(), "rmsNorm", "grad is " + describe(grad) + " but x " + describe(x));
  const Size size = sizeOf("rmsNorm", x);
  const Rows rows = rowsOf(x), grads = rowsOf(grad);
  const at::Tensor weight = weightIn.contiguous();
  const at::Tensor dx = wantInput ? fresh(x) : nothing(x), dw = wantWeight ? fresh(weight) : nothing(x);
  const std::int64_t groups = blocksOf(size.rows, normGroupRows(size.width));
  const at::Tensor partial = wantWeight ? at::empty({groups, size.width}, rms.options()) : nothing(rms);
  const bool whole = rows.whole && grads.whole && wholeRows(size.width, {rows.tensor, grads.tensor, weight, dx});
  const RmsNormBackward a{grads.tensor.const_data_ptr(),
                          rows.tensor.const_data_ptr(),
                          weight.const_data_ptr(),
                          rms.const_data_ptr<float>(),
                          wantInput ? dx.mutable_data_ptr() : nullptr,
                          wantWeight ? partial.mutable_data_ptr<float>() : nullptr,
                          grads.layout,
                          rows.layout,
                          size.rows,
                          size.width,
                          whole ? 1 : 0};
  if (wantInput || wantWeight)
    launchRows(x, "rms_norm_backward", groups, kNormThreads, normBackwardShared(size.width), &a);
  if (wantWeight) {
    const RmsNormBackwardWeight w{partial.const_data_ptr<float>(), dw.mutable_data_ptr(),
                                  static_cast<std::uint32_t>(groups), size.width};
    launchRows(x, "rms_norm_backward_weight", blocksOf(size.width, kSumColumns), kSumColumns * kSumLanes,
               kNormWeightShared, &w);
  }
  return {dx, dw};
}

at::Tensor siluMul(const at::Tensor& gateIn, const at::Tensor& upIn) {
  requireAlike("siluMul", gateIn, {upIn});
  require(gateIn.sizes() == upIn.sizes(), "siluMul",
          "gate and up must be alike, but are " + describe(gateIn) + " and " + describe(upIn));
  const at::Tensor gate = gateIn.contiguous(), up = upIn.contiguous();
  at::Tensor out = fresh(gate);
  const bool whole = startsPack(gate) && startsPack(up) && startsPack(out);
  const SiluMulForward a{gate.const_data_ptr(), up.const_data_ptr(), out.mutable_data_ptr(), gate.numel(),
                         whole ? 1 : 0};
  launchRows(gate, "silu_mul_forward", blocksOf(a.count, kPointThreads * kPack), kPointThreads, 0, &a);
  return out;
}

std::tuple<at::Tensor, at::Tensor> siluMulBackward(const at::Tensor& gradIn, const at::Tensor& gateIn,
                                                   const at::Tensor& upIn) {
  requireAlike("siluMul", gateIn, {gradIn, upIn});
  require(gradIn.sizes() == gateIn.sizes() && upIn.sizes() == gateIn.sizes(), "siluMul",
          "grad is " + describe(gradIn) + " but gate " + describe(gateIn) + " and up " + describe(upIn));
  const at::Tensor grad = gradIn.contiguous(), gate = gateIn.contiguous(), up = upIn.contiguous();
  const at::Tensor gradGate = fresh(gate), gradUp = fresh(gate);
  const bool whole =
      startsPack(grad) && startsPack(gate) && startsPack(up) && startsPack(gradGate) && startsPack(gradUp);
  const SiluMulBackward a{
      grad.const_data_ptr(),     gate.const_data_ptr(), up.const_data_ptr(), gradGate.mutable_data_ptr(),
      gradUp.mutable_data_ptr(), gate.numel(),          whole ? 1 : 0};
  launchRows(gate, "silu_mul_backward", blocksOf(a.count, kPointThreads * kPack), kPointThreads, 0, &a);
  return {gradGate, gradUp};
}

at::Tensor rope(const at::Tensor& x, const at::Tensor& cosIn, const at::Tensor& sinIn, bool back) {
  elementOf(x, "applyRope", "x");
  requireFloatOn("applyRope", x, {cosIn, sinIn});
  require(x.dim() == 4 && x.size(3) % 2 == 0, "applyRope",
          "x is " + describe(x) + "; it must be [B, heads, T, d] with even d");
  const std::int64_t half = x.size(3) / 2;
  for (const at::Tensor* t : {&cosIn, &sinIn})
    require(t->sizes() == at::IntArrayRef({x.size(0), x.size(2), half}), "applyRope",
            "cos and sin must be [B, T, d / 2] for x " + describe(x) + ", but one is " + describe(*t));
  const at::Tensor input = x.stride(3) == 1 ? x : x.contiguous();  // four dimensions, which rowsOf() keeps apart
  const Rows rows = rowsOf(input);
  const at::Tensor cos = cosIn.contiguous(), sin = sinIn.contiguous();
  at::Tensor y = fresh(x);
  const Size size = sizeOf("applyRope", x);
  const bool whole = rows.whole && wholeRows(half, {rows.tensor, cos, sin, y});
  const Rope a{rows.tensor.const_data_ptr(),
               cos.const_data_ptr<float>(),
               sin.const_data_ptr<float>(),
               y.mutable_data_ptr(),
               rows.layout,
               size.rows,
               static_cast<int>(half),
               back ? -1.0f : 1.0f,
               whole ? 1 : 0};
  const std::int64_t packs = size.rows * blocksOf(half, kPack);
  launchRows(x, "rope", blocksOf(packs, kPointThreads), kPointThreads, 0, &a);
  return y;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> crossEntropy(const at::Tensor& logitsIn,
                                                                        const at::Tensor& labelsIn) {
  elementOf(logitsIn, "crossEntropy", "logits");
  requireSameDevice("crossEntropy", logitsIn, labelsIn);
  require(
      logitsIn.dim() == 2 && labelsIn.dim() == 1 && labelsIn.scalar_type() == at::kLong &&
          labelsIn.size(0) == logitsIn.size(0),
      "crossEntropy",
      "logits are " + describe(logitsIn) + " and labels " + describe(labelsIn) + "; they must be [R, V] and int64 [R]");
  const at::Tensor logits = logitsIn.contiguous(), labels = labelsIn.contiguous();
  const Size size = sizeOf("crossEntropy", logits);
  require(logits.size(0) == 0 || size.width > 0, "crossEntropy",
          "logits are " + describe(logits) + ", which leaves nothing to choose from");
  const auto floats = logits.options().dtype(at::kFloat);
  const at::Tensor loss = at::empty({size.rows}, floats), probability = at::empty({size.rows}, floats),
                   lse = at::empty({size.rows}, floats), argmax = at::empty({size.rows}, floats.dtype(at::kLong));
  const CrossEntropyForward a{logits.const_data_ptr(),
                              labels.const_data_ptr<std::int64_t>(),
                              loss.mutable_data_ptr<float>(),
                              argmax.mutable_data_ptr<std::int64_t>(),
                              probability.mutable_data_ptr<float>(),
                              lse.mutable_data_ptr<float>(),
                              size.width,
                              wholeRows(size.width, {logits}) ? 1 : 0};
  launchRows(logits, "cross_entropy_forward", size.rows, kEntropyThreads, kEntropyShared, &a);
  return {loss, argmax, probability, lse};
}

at::Tensor crossEntropyBackward(const at::Tensor& gradIn, const at::Tensor& logitsIn, const at::Tensor& labelsIn,
                                const at::Tensor& lse) {
  elementOf(logitsIn, "crossEntropy", "logits");
  requireFloatOn("crossEntropy", logitsIn, {gradIn, lse});
  requireSameDevice("crossEntropy", logitsIn, labelsIn);
  const at::Tensor grad = gradIn.contiguous(), logits = logitsIn.contiguous(), labels = labelsIn.contiguous();
  const Size size = sizeOf("crossEntropy", logits);
  require(grad.numel() == size.rows && labels.numel() == size.rows && lse.numel() == size.rows, "crossEntropy",
          "grad is " + describe(grad) + ", labels " + describe(labels) + " and logits " + describe(logits));
  at::Tensor out = fresh(logits);
  const CrossEntropyBackward a{logits.const_data_ptr(),
                               labels.const_data_ptr<std::int64_t>(),
                               lse.const_data_ptr<float>(),
                               grad.const_data_ptr<float>(),
                               out.mutable_data_ptr(),
                               size.width,
                               wholeRows(size.width, {logits, out}) ? 1 : 0};
  const std::int64_t blocks = static_cast<std::int64_t>(size.rows) * entropyParts(size.width);
  launchRows(logits, "cross_entropy_backward", blocks, kEntropyThreads, 0, &a);
  return out;
}

}  // namespace redraft::model::gpu
