#pragma once
// Attention's inputs, its dense reference in float64 and the bounds of docs/kernels.md, "On a GPU".

#include <ATen/ATen.h>

#include <cstdint>

#include "model/kernels/attention.h"

namespace redraft::model::testing {

struct GpuCase {
  std::int64_t batch, heads, keyHeads;
  std::int64_t blocks, blockSize, context;  // blocks 0: causal with blockSize queries and `context` keys
  std::int64_t window;
};

/// On the CPU; a sixth of the blocks sees nothing.
BlockMask maskOf(const GpuCase& c);

struct Inputs {
  at::Tensor q, k, v, grad;  // bfloat16, on the CPU
  double scale;
};
Inputs inputs(const GpuCase& c, const BlockMask& mask, std::int64_t dim);

struct Results {
  at::Tensor out, lse, gradQ, gradK, gradV;
};

struct Bounded {
  at::Tensor want, bound;
};
struct Reference {
  Bounded out, gradQ, gradK, gradV;
};
Reference reference(const Inputs& in, const BlockMask& mask);

/// `got` on any device; its lse is not looked at.
void expectWithin(const Results& got, const Reference& want);

}  // namespace redraft::model::testing
