#pragma once
// The environment under which CPU results are equal bit for bit on any x86-64 machine with AVX2, and GPU results on any
// of one numerics class. LibTorch, MKL, oneDNN, cuBLAS and OpenMP read it once, when they are loaded, so it is set
// before a program starts, never inside it.

#include <map>
#include <string>

namespace redraft {

/// Name and value of every pinned variable, for `threads` intra-op threads.
const std::map<std::string, std::string> pinnedEnvironment(int threads = 1);

/// True when the process already runs under it.
bool environmentIsPinned(int threads = 1);

/// Sets the variables and starts this program again (execv of /proc/self/exe) unless it already runs under them.
/// Returns only in the pinned process. Throws Error(kEnvironment) when the second start fails.
void restartPinned(char** argv, int threads = 1);

}  // namespace redraft
