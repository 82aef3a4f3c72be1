#include "devices/gpu_memory.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace redraft::devices {
namespace {

// NVML's own types (NVML API Reference, "nvmlDeviceGetComputeRunningProcesses_v3"): its header is not in every toolkit.
using NvmlDevice = void*;
constexpr int kSuccess = 0, kInsufficientSize = 7;
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
struct NvmlProcess {
  unsigned pid;
  unsigned long long usedBytes;  // NOLINT(google-runtime-int): NVML's
  unsigned gpuInstance, computeInstance;
};

/// NVML, initialised while this lives.
class Nvml {
 public:
  explicit Nvml(const char* library) : library_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    const bool whole = bind(init_, "nvmlInit_v2") && bind(shutdown_, "nvmlShutdown") &&
                       bind(count_, "nvmlDeviceGetCount_v2") && bind(handle_, "nvmlDeviceGetHandleByIndex_v2") &&
                       bind(uuid_, "nvmlDeviceGetUUID") && bind(processes_, "nvmlDeviceGetComputeRunningProcesses_v3");
    works_ = whole && init_() == kSuccess;
  }
  ~Nvml() {
    if (works_) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  unsigned count() const {
    unsigned count = 0;
    return works_ && count_(&count) == kSuccess ? count : 0;
  }

  /// What the process holds on GPU `index`; 0 bytes: nothing, or not known.
  GpuMemoryUse use(unsigned index, std::int64_t pid) const {
    NvmlDevice device = nullptr;
    std::array<char, 96> uuid{};
    if (handle_(index, &device) != kSuccess || uuid_(device, uuid.data(), uuid.size()) != kSuccess) return {};
    GpuMemoryUse use{uuid.data(), 0};
    for (const NvmlProcess& process : processesOn(device))
      if (process.pid == pid && process.usedBytes != kUnknown)
        use.bytes += static_cast<std::int64_t>(process.usedBytes);
    return use;
  }

 private:
  template <class Function>
  bool bind(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    return function != nullptr;
  }

  std::vector<NvmlProcess> processesOn(NvmlDevice device) const {
    std::vector<NvmlProcess> processes(64);
    while (true) {
      auto count = static_cast<unsigned>(processes.size());
      const int answer = processes_(device, &count, processes.data());
      if (answer == kInsufficientSize && processes.size() < 1u << 16) {
        processes.resize(2 * std::max<std::size_t>(processes.size(), count));
        continue;
      }
      processes.resize(answer == kSuccess ? count : 0);
      return processes;
    }
  }

  void* library_;
  bool works_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*processes_)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
};

}  // namespace

std::vector<GpuMemoryUse> gpuMemoryOf(std::int64_t pid, const char* library) {
  const Nvml nvml(library);
  std::vector<GpuMemoryUse> uses;
  for (unsigned index = 0; index < nvml.count(); ++index) {
    GpuMemoryUse use = nvml.use(index, pid);
    if (use.bytes > 0) uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace redraft::devices
