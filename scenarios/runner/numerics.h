#pragma once
// What results depend on, and how the runner settles it.

#include <map>
#include <string>

namespace redraft::scenarios {

/// Deterministic algorithms, filled memory, and the thread count. Before the first tensor.
void settleNumerics(int threads);

/// Fields of the numerics class that only the runner knows: isa, libtorch, mkl, onednn, kernels, device
/// (golden/run_files.h).
std::map<std::string, std::string> numericsFields();

}  // namespace redraft::scenarios
