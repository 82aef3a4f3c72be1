#pragma once
// The fused operations held against the pinned ones of the CPU on the same inputs: odd widths, single rows, none,
// strided and unaligned inputs. On a GPU, and on the CPU by emulation (fused_emulation.h).

#include <ATen/ATen.h>

#include <vector>

namespace redraft::model::testing {

/// Both are within γ of the exact value: twice γ of `roundings` on the sum of absolute terms, and twice the store of
/// the result. An exponential of a GPU counts as three roundings, like the pinned one's.
at::Tensor bothBounds(const at::Tensor& terms, double roundings, const at::Tensor& want);

/// Each checks what it makes on `device`, and that the same call again gives the same bits. The results are on the CPU,
/// for who compares more.
using FusedResults = std::vector<at::Tensor>;
FusedResults checkFusedNorms(at::Device device, at::ScalarType type);
FusedResults checkFusedActivation(at::Device device, at::ScalarType type);
FusedResults checkFusedRotation(at::Device device, at::ScalarType type);
FusedResults checkFusedCrossEntropy(at::Device device, at::ScalarType type);
FusedResults checkFusedUpdates(at::Device device);
FusedResults checkFusedSums(at::Device device, at::ScalarType type);

}  // namespace redraft::model::testing
