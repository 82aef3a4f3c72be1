#pragma once
// The environment under which CPU results are equal bit for bit on any x86-64 machine with AVX2, and GPU results on any
// of one numerics class. LibTorch, MKL, oneDNN, cuBLAS and OpenMP read it once, when they are loaded, so it is set
// before a program starts, never inside it.

#include <map>
#include <string>

namespace redraft {

/// What is pinned. The instruction set is LibTorch's and its libraries': "avx2", "default" (no vectors beyond SSE) or
/// "avx512". Results differ between them; our own kernels' do not.
struct Pinning {
  int threads = 1;  // intra-op
  std::string isa = "avx2";
};

/// Name and value of every pinned variable.
const std::map<std::string, std::string> pinnedEnvironment(const Pinning& pinning = {});

/// True when the process already runs under it.
bool environmentIsPinned(const Pinning& pinning = {});

/// Sets the variables and starts this program again (execv of /proc/self/exe) unless it already runs under them.
/// Returns only in the pinned process. Throws Error(kEnvironment) when the second start fails.
void restartPinned(char** argv, const Pinning& pinning = {});

}  // namespace redraft
