#pragma once
// What a process holds on the GPUs of this machine, by the driver's management library (NVML): contexts and code too,
// which no allocator counts.

#include <cstdint>
#include <string>
#include <vector>

namespace redraft::devices {

struct GpuMemoryUse {
  std::string uuid;  // "GPU-…", as nvidia-smi -L prints it
  std::int64_t bytes = 0;
};

/// Of every GPU where process `pid` holds a context; also of GPUs that CUDA_VISIBLE_DEVICES hides from it. Empty where
/// there is no NVML, or it does not know the process, as in a container with process numbers of its own.
std::vector<GpuMemoryUse> gpuMemoryOf(std::int64_t pid, const char* library = "libnvidia-ml.so.1");

}  // namespace redraft::devices
