#pragma once
// The clocks of the GPUs while the steps of a block run: a thread of its own asks for them, one for a bench.

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "devices/gpu_clock.h"

namespace redraft::harness {

struct ClockReading {
  std::optional<double> mhz;          // mean over samples, then over GPUs; nullopt: no GPU worked, or none is known
  std::vector<std::string> slowdown;  // each reason once
};

/// From samples of several GPUs: of those that worked in at least half of their samples, and, where `uuids` is not
/// empty, are named there.
ClockReading readingOf(const std::vector<devices::GpuClock>& samples, const std::set<std::string>& uuids);

class ClockSampler {
 public:
  explicit ClockSampler(const char* library = "libnvidia-ml.so.1");
  ~ClockSampler();
  ClockSampler(const ClockSampler&) = delete;
  ClockSampler& operator=(const ClockSampler&) = delete;

  /// Why no clock is known; "": it is.
  const std::string& problem() const { return clocks_.problem(); }
  /// Samples are taken while it is on. Any thread.
  void sample(bool on);
  /// What was sampled since the last call. Any thread.
  std::vector<devices::GpuClock> take();

 private:
  void loop();

  const devices::GpuClocks clocks_;  // asked by the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  bool on_ = false, over_ = false;
  std::vector<devices::GpuClock> samples_;
  std::thread thread_;
};

}  // namespace redraft::harness
