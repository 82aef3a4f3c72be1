#include "harness/bench/clock_sampler.h"

#include <utility>

namespace redraft::harness {
namespace {

constexpr std::chrono::milliseconds kEvery{20};

struct GpuSum {
  double mhz = 0;
  int working = 0, samples = 0;
  std::set<std::string> slowdown;
};

}  // namespace

ClockReading readingOf(const std::vector<devices::GpuClock>& samples, const std::set<std::string>& uuids) {
  std::map<std::string, GpuSum> gpus;
  for (const devices::GpuClock& sample : samples) {
    if (!uuids.empty() && !uuids.contains(sample.uuid)) continue;
    GpuSum& gpu = gpus[sample.uuid];
    ++gpu.samples;
    if (sample.idle) continue;
    ++gpu.working;
    gpu.mhz += sample.mhz;
    if (!sample.slowdown.empty()) gpu.slowdown.insert(sample.slowdown);
  }
  ClockReading reading;
  std::set<std::string> slowdown;
  double sum = 0;
  int working = 0;
  for (const auto& [uuid, gpu] : gpus) {
    if (2 * gpu.working < gpu.samples || gpu.working == 0) continue;
    sum += gpu.mhz / gpu.working;
    ++working;
    slowdown.insert(gpu.slowdown.begin(), gpu.slowdown.end());
  }
  if (working > 0) reading.mhz = sum / working;
  reading.slowdown.assign(slowdown.begin(), slowdown.end());
  return reading;
}

ClockSampler::ClockSampler(const char* library) : clocks_(library) {
  if (problem().empty()) thread_ = std::thread([this] { loop(); });
}

ClockSampler::~ClockSampler() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ClockSampler::sample(bool on) {
  {
    const std::lock_guard lock(mutex_);
    on_ = on;
  }
  changed_.notify_all();
}

std::vector<devices::GpuClock> ClockSampler::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(samples_, {});
}

void ClockSampler::loop() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (!on_) {
      changed_.wait(lock, [this] { return on_ || over_; });
      continue;
    }
    lock.unlock();
    const std::vector<devices::GpuClock> now = clocks_.now();
    lock.lock();
    if (on_) samples_.insert(samples_.end(), now.begin(), now.end());
    changed_.wait_for(lock, kEvery, [this] { return over_; });
  }
}

}  // namespace redraft::harness
