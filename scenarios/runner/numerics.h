#pragma once
// What results depend on, and how the runner settles it. Fields: docs/formats.md, "Metrics".

#include <map>
#include <string>
#include <vector>

namespace redraft::scenarios {

using ClassFields = std::map<std::string, std::string>;

/// Throws Unsupported where this processor lacks the instructions: LibTorch takes the variable's word for it.
void requireInstructions(const std::string& isa);

/// Deterministic algorithms, filled memory, and the thread count. Before the first tensor.
void settleNumerics(int threads);
/// For GPUs, beside that: full float32 products, whole sums in bfloat16 ones, no filled memory (a kernel an
/// allocation).
void settleGpuNumerics();

/// Fields of the numerics class that only the runner knows: isa, libtorch, mkl, onednn, kernels, device
/// (golden/run_files.h).
ClassFields numericsFields();
/// The whole class of a run on the CPU.
ClassFields cpuNumericsClass(const std::string& device, int threads);

struct GpuModel {
  std::string name;
  int architecture = 0;  // 10 · major + minor
  int multiprocessors = 0;
};
/// What results on GPUs depend on. Never the host: neither its processor nor its cores show in the bits.
struct GpuFacts {
  std::string driver, runtime, cublas, cudnn;  // versions
  std::vector<GpuModel> gpus;                  // those that a role is on
};
ClassFields gpuNumericsClass(const GpuFacts& facts);
/// The GPUs' names and how many there are.
ClassFields gpuPerformanceClass(const GpuFacts& facts);

}  // namespace redraft::scenarios
