#pragma once
// At which clock the GPUs of this machine run, and why no faster, by the driver's management library (NVML).

#include <memory>
#include <string>
#include <vector>

namespace redraft::devices {

struct GpuClock {
  std::string uuid;
  double mhz = 0;        // of the multiprocessors, now
  bool idle = false;     // nothing runs on it, so that its clock says nothing
  std::string slowdown;  // "thermal slowdown", "hardware slowdown", "power brake"; "": none. A power cap is none: under
                         // load it is the rule, and the clock itself shows what it does
};

/// Not thread-safe.
class GpuClocks {
 public:
  explicit GpuClocks(const char* library = "libnvidia-ml.so.1");
  ~GpuClocks();
  GpuClocks(const GpuClocks&) = delete;
  GpuClocks& operator=(const GpuClocks&) = delete;

  /// Why no clock is known here; "": it is.
  const std::string& problem() const { return problem_; }
  /// Of the GPUs that answer. A call takes tens of microseconds.
  std::vector<GpuClock> now() const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
  std::string problem_;
};

}  // namespace redraft::devices
