#pragma once
// A sim tensor seen as a CPU tensor over the same bytes, and a CPU kernel's result seen as a sim tensor.

#include <ATen/core/Tensor.h>

#include "model/sim/sim_state.h"

namespace redraft::model::sim {

inline bool isSim(const at::Tensor& tensor) { return tensor.device().type() == kSim; }

/// A CPU tensor with the sizes, strides, dtype and conj/neg bits of `sim`, over its companion storage.
at::Tensor cpuAlias(const at::Tensor& sim);

/// Makes a CPU kernel's result a sim tensor on `device`, in place where nobody else holds it. `storage`: the sim
/// storage whose companion the result lies in (a view of an argument), or null. `op` is named when the result cannot be
/// one.
at::Tensor simResult(at::Tensor cpu, int device, const c10::Storage& storage, const char* op);

/// After a CPU kernel wrote `alias`: brings size, strides, offset and storage of `sim` up to date.
void syncWritten(const at::Tensor& sim, const at::Tensor& alias);

}  // namespace redraft::model::sim
