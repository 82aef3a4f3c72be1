#pragma once
// The operations of the training stack whose bits are pinned: fixed summation order, explicit FMA, no libm, the same
// result for any thread count and any x86-64 processor with AVX2. Registered with the dispatcher under "redraft::", so
// that they run on CPU tensors and, through the simulated backend, on sim tensors. All are differentiable where they
// say so. dtypes: float32 and bfloat16 (bfloat16 accumulates in float32). Inputs may be strided; outputs are
// contiguous.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace redraft::model {

/// y[…, o] = Σ_i x[…, i] w[o, i]. Differentiable in both. Call it qualified: argument-dependent look-up finds
/// at::linear too.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight);

/// Qwen3RMSNorm over the last dimension: w · x · rsqrt(mean(x²) + eps), computed in float32. Differentiable in both.
at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// silu(gate) ⊙ up. Differentiable in both.
at::Tensor siluMul(const at::Tensor& gate, const at::Tensor& up);

/// cos and sin, each [B, T, d/2] float32 on the positions' device, for int64 positions [B, T]; inv_freq_i =
/// theta^(-2i/d) in float32, angles = position · inv_freq in float32, as Hugging Face's Qwen3RotaryEmbedding.
std::tuple<at::Tensor, at::Tensor> ropeTable(const at::Tensor& positions, std::int64_t headDim, double theta);
/// Half-split rotation of x [B, h, T, d]: x · cos + [-x₂, x₁] · sin. Differentiable in x.
at::Tensor applyRope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

/// Per row of logits [R, V] and int64 labels [R] (ignored where weight is 0): (cross-entropy [R] float32, argmax [R]
/// int64, probability of the label [R] float32). Differentiable in logits through the first.
std::tuple<at::Tensor, at::Tensor, at::Tensor> crossEntropy(const at::Tensor& logits, const at::Tensor& labels);

/// One AdamW step in place (Loshchilov & Hutter; torch.optim.AdamW's order of operations), float32 master, moments and
/// gradient, all of one shape. `step` counts from 1. weightDecay 0 leaves decay out.
/// `copy`, bfloat16 of that shape and contiguous, then takes the new master, rounded.
void adamwStep(at::Tensor& master, at::Tensor& m, at::Tensor& v, const at::Tensor& grad, double lr, double beta1,
               double beta2, double eps, double weightDecay, std::int64_t step,
               const std::optional<at::Tensor>& copy = std::nullopt);

/// Σ x² in float64 in a fixed pairwise order. Returns a CPU double.
double sumOfSquares(const at::Tensor& x);
/// The same of each tensor; waits for their device once.
std::vector<double> sumsOfSquares(const std::vector<at::Tensor>& tensors);
/// Multiplies tensors in place; float32 ones of one GPU in few launches.
void scaleAll(const std::vector<at::Tensor>& tensors, double factor);

/// out = a + b elementwise float32; the node of the pairwise gradient tree.
at::Tensor addExact(const at::Tensor& a, const at::Tensor& b);

/// Version of these kernels' arithmetic; a change of any bit of any result raises it. Part of the numerics class.
constexpr int kKernelsVersion = 1;

}  // namespace redraft::model
