#include "devices/gpu_memory.h"

#include <algorithm>

#include "devices/nvml_library.h"

namespace redraft::devices {
namespace {

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct NvmlProcess {
  unsigned pid;
  unsigned long long usedBytes;  // NOLINT(google-runtime-int): NVML's
  unsigned gpuInstance, computeInstance;
};
using ListProcesses = int (*)(NvmlDevice, unsigned*, NvmlProcess*);

std::vector<NvmlProcess> processesOn(NvmlDevice device, ListProcesses list) {
  std::vector<NvmlProcess> processes(64);
  while (true) {
    auto count = static_cast<unsigned>(processes.size());
    const int answer = list(device, &count, processes.data());
    if (answer == kNvmlInsufficientSize && processes.size() < 1u << 16) {
      processes.resize(2 * std::max<std::size_t>(processes.size(), count));
      continue;
    }
    processes.resize(answer == kNvmlSuccess ? count : 0);
    return processes;
  }
}

std::int64_t bytesOf(std::int64_t pid, const std::vector<NvmlProcess>& processes) {
  std::int64_t bytes = 0;
  for (const NvmlProcess& process : processes)
    if (process.pid == pid && process.usedBytes != kUnknown) bytes += static_cast<std::int64_t>(process.usedBytes);
  return bytes;
}

}  // namespace

std::vector<GpuMemoryUse> gpuMemoryOf(std::int64_t pid, const char* library) {
  const NvmlLibrary nvml(library);
  std::vector<GpuMemoryUse> uses;
  ListProcesses list = nullptr;
  if (!nvml.works() || !nvml.bind(list, "nvmlDeviceGetComputeRunningProcesses_v3")) return uses;
  for (unsigned index = 0; index < nvml.count(); ++index) {
    char room[96] = {};
    const NvmlDevice device = nvml.device(index);
    if (device == nullptr) continue;
    const GpuMemoryUse use{nvml.uuid(device, room), bytesOf(pid, processesOn(device, list))};
    if (!use.uuid.empty() && use.bytes > 0) uses.push_back(use);
  }
  return uses;
}

}  // namespace redraft::devices
