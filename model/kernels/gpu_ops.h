#pragma once
// The operations of ops.h on GPU tensors, accumulated in float32 (sums of squares in float64), a result rounded to its
// type once: products are cuBLAS's, linear maps aside each operation is one kernel of model/kernels/cuda or two
// (docs/kernels.md). Their bits are the same whenever a run of one numerics class is made again (docs/cuda.md,
// "Numbers"), close to the CPU's, not equal. No CUDA header and no host synchronisation; on CPU tensors, where tests
// hold them against the pinned ones, the kernels run by emulation (setFusedEmulation). Signatures are those of the
// operators in ops_*.cc.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace torch {
class Library;
}

namespace redraft::model::gpu {

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight);
at::Tensor linearGradInput(const at::Tensor& grad, const at::Tensor& weight);
at::Tensor linearGradWeight(const at::Tensor& grad, const at::Tensor& x);

/// (y, 1 / root mean square a row).
std::tuple<at::Tensor, at::Tensor> rmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps);
std::tuple<at::Tensor, at::Tensor> rmsNormBackward(const at::Tensor& grad, const at::Tensor& x,
                                                   const at::Tensor& weight, const at::Tensor& rms, bool wantInput,
                                                   bool wantWeight);

at::Tensor siluMul(const at::Tensor& gate, const at::Tensor& up);
std::tuple<at::Tensor, at::Tensor> siluMulBackward(const at::Tensor& grad, const at::Tensor& gate,
                                                   const at::Tensor& up);

std::tuple<at::Tensor, at::Tensor> ropeTable(const at::Tensor& positions, std::int64_t headDim, double theta);
at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool back);

/// (loss, argmax, probability of the label, log-sum-exp) a row. The loss of a label outside the vocabulary is
/// NaN here, not an error with its row: whoever makes labels has checked them (loadDataset does).
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> crossEntropy(const at::Tensor& logits,
                                                                        const at::Tensor& labels);
at::Tensor crossEntropyBackward(const at::Tensor& grad, const at::Tensor& logits, const at::Tensor& labels,
                                const at::Tensor& lse);

void adamwStep(at::Tensor master, at::Tensor m, at::Tensor v, const at::Tensor& grad, double lr, double beta1,
               double beta2, double eps, double weightDecay, std::int64_t step,
               const std::optional<at::Tensor>& copy = std::nullopt);
at::Tensor sumOfSquares(const at::Tensor& x);
at::Tensor sumsOfSquares(at::TensorList tensors);      // float64, one a tensor
void scaleAll(at::TensorList tensors, double factor);  // float32, in place
at::Tensor addExact(const at::Tensor& a, const at::Tensor& b);

/// Registers all of them for the dispatch key CUDA.
void registerOps(torch::Library& library);

/// Version of these operations' and of the GPU kernels' arithmetic, part of the numerics class of a GPU.
constexpr int kKernelsVersion = 2;

}  // namespace redraft::model::gpu
