#pragma once
// For benchmarks: LibTorch's own operations in the place of the pinned ones.

#include <memory>

namespace torch {
class Library;
}

namespace redraft::model {

/// While it lives, the CPU kernels of redraft:: operators that LibTorch has a counterpart of are that counterpart:
/// linear, rms_norm, silu_mul, cross_entropy, adamw_step, their gradients, sum_of_squares. Attention over a block mask
/// and RoPE stay, LibTorch has none. Results agree up to rounding. One at a time, and no other thread calls them.
class LibTorchOperators {
 public:
  LibTorchOperators();
  ~LibTorchOperators();
  LibTorchOperators(const LibTorchOperators&) = delete;
  LibTorchOperators& operator=(const LibTorchOperators&) = delete;

 private:
  std::unique_ptr<torch::Library> library_;
};

}  // namespace redraft::model
