#include "devices/gpu_clock.h"

#include "devices/nvml_library.h"

namespace redraft::devices {
namespace {

constexpr int kMultiprocessorClock = 1;  // NVML_CLOCK_SM
// nvmlClocksEventReasons.
using Reasons = unsigned long long;  // NOLINT(google-runtime-int): NVML's
constexpr Reasons kIdle = 0x1, kHardware = 0x8, kSoftwareThermal = 0x20, kHardwareThermal = 0x40, kPowerBrake = 0x80;

std::string slowdownOf(Reasons reasons) {
  if ((reasons & (kSoftwareThermal | kHardwareThermal)) != 0) return "thermal slowdown";
  if ((reasons & kPowerBrake) != 0) return "power brake";
  return (reasons & kHardware) != 0 ? "hardware slowdown" : "";
}

}  // namespace

struct GpuClocks::Nvml {
  explicit Nvml(const char* name) : library(name) {}
  NvmlLibrary library;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, Reasons*) = nullptr;
};

GpuClocks::GpuClocks(const char* library) : nvml_(std::make_unique<Nvml>(library)) {
  const NvmlLibrary& nvml = nvml_->library;
  if (!nvml.works())
    problem_ = "no NVML";
  else if (nvml.count() == 0)
    problem_ = "NVML shows no GPU";
  // The second name is that of drivers before 535.
  else if (!nvml.bind(nvml_->clock, "nvmlDeviceGetClockInfo") ||
           (!nvml.bind(nvml_->reasons, "nvmlDeviceGetCurrentClocksEventReasons") &&
            !nvml.bind(nvml_->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons")))
    problem_ = "this NVML says no clocks";
}

GpuClocks::~GpuClocks() = default;

std::vector<GpuClock> GpuClocks::now() const {
  std::vector<GpuClock> clocks;
  const NvmlLibrary& nvml = nvml_->library;
  for (unsigned index = 0; problem_.empty() && index < nvml.count(); ++index) {
    char room[96] = {};
    unsigned mhz = 0;
    Reasons reasons = 0;
    const NvmlDevice device = nvml.device(index);
    if (device == nullptr || nvml_->clock(device, kMultiprocessorClock, &mhz) != kNvmlSuccess) continue;
    if (nvml_->reasons(device, &reasons) != kNvmlSuccess) continue;
    clocks.push_back({nvml.uuid(device, room), static_cast<double>(mhz), (reasons & kIdle) != 0, slowdownOf(reasons)});
  }
  return clocks;
}

}  // namespace redraft::devices
