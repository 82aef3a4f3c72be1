#include "base/pinned_environment.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace redraft {

const std::map<std::string, std::string> pinnedEnvironment(const Pinning& pinning) {
  const std::string count = std::to_string(pinning.threads);
  const bool plain = pinning.isa == "default", wide = pinning.isa == "avx512";
  REDRAFT_CHECK(plain || wide || pinning.isa == "avx2", "an instruction set that can be pinned");
  return {
      {"ATEN_CPU_CAPABILITY", pinning.isa},
      {"ONEDNN_MAX_CPU_ISA", plain  ? "SSE41"
                             : wide ? "AVX512_CORE"
                                    : "AVX2"},
      // COMPATIBLE, not AVX2,STRICT: the latter is a branch for Intel processors alone.
      {"MKL_CBWR", "COMPATIBLE"},
      {"MKL_DYNAMIC", "FALSE"},
      {"OMP_DYNAMIC", "FALSE"},
      // Without it cuBLAS's split sums depend on what else runs (LibTorch refuses deterministic products then).
      {"CUBLAS_WORKSPACE_CONFIG", ":4096:8"},
      {"NVIDIA_TF32_OVERRIDE", "0"},
      {"OMP_NUM_THREADS", count},
      {"MKL_NUM_THREADS", count},
  };
}

bool environmentIsPinned(const Pinning& pinning) {
  for (const auto& [name, value] : pinnedEnvironment(pinning)) {
    const char* now = std::getenv(name.c_str());
    if (now == nullptr || value != now) return false;
  }
  return true;
}

void restartPinned(char** argv, const Pinning& pinning) {
  if (environmentIsPinned(pinning)) return;
  for (const auto& [name, value] : pinnedEnvironment(pinning)) ::setenv(name.c_str(), value.c_str(), 1);
  ::execv("/proc/self/exe", argv);
  throw Error(ErrorKind::kEnvironment, "/proc/self/exe",
              std::string("could not start again with the pinned environment: ") + std::strerror(errno));
}

}  // namespace redraft
