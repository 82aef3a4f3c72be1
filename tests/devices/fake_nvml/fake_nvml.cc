// A libnvidia-ml with two GPUs: process 4711 holds 3 MiB in two pieces on the first, process 4712 what nobody knows on
// the second, 4713 what is known in part, and 100 processes more are on it than a first guess has room for. The first
// is hot, the second idle.
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
struct Process {
  unsigned pid;
  unsigned long long usedBytes;
  unsigned gpuInstance, computeInstance;
};
constexpr unsigned kOthers = 100;
int first = 0, second = 1;
}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's.
EXPORT int nvmlInit_v2() { return 0; }
EXPORT int nvmlShutdown() { return 0; }
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = index == 0 ? &first : &second;
  return 0;
}
EXPORT int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  std::strncpy(uuid, device == &first ? "GPU-first" : "GPU-second", size);
  return 0;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  if (device == &first) {
    *count = 2;
    processes[0] = {4711, 1 << 20, 0, 0};
    processes[1] = {4711, 2 << 20, 0, 0};
    return 0;
  }
  const unsigned room = *count;
  *count = kOthers + 3;
  if (room < *count) return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  for (unsigned i = 0; i < kOthers; ++i) processes[i] = {i + 1, 1, 0, 0};
  processes[kOthers] = {4712, ~0ull, 0, 0};  // NVML_VALUE_NOT_AVAILABLE
  processes[kOthers + 1] = {4713, 5, 0, 0};
  processes[kOthers + 2] = {4713, ~0ull, 0, 0};  // nor how much in all
  return 0;
}
EXPORT int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  if (type != 1) return 2;  // NVML_ERROR_INVALID_ARGUMENT: of the multiprocessors alone
  *mhz = device == &first ? 1755 : 345;
  return 0;
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons = device == &first ? 0x4 | 0x20 : 0x1;  // power cap and thermal slowdown; idle
  return 0;
}
// NOLINTEND(readability-identifier-naming)
