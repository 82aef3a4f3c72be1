#include "scenarios/faults/stretch_fault.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <thread>
#include <utility>

#include "scenarios/faults/origin_match.h"

namespace redraft::scenarios {
namespace {

using Clock = std::chrono::steady_clock;

/// A sleeper wakes up to a tenth of a millisecond late, which is a percent of a short step.
constexpr std::chrono::microseconds kWakesLate{200};

void holdUntil(Clock::time_point end) {
  std::this_thread::sleep_until(end - kWakesLate);
  while (Clock::now() < end) {
  }
}

class Stretch : public Fault {
 public:
  explicit Stretch(JsonReader& parameters)
      : role_(parameters.string("role", "drafter[0]")), percent_(parameters.number("percent", 0, 1000)) {}

  void install(FaultSite& site) override {
    device_ = site.topology.deviceOf(role_);  // throws when there is no such role
    type_ = site.scenario.backend == "cuda" ? c10::DeviceType::CUDA : c10::DeviceType::PrivateUse1;
  }
  void syncPoint(model::SyncPoint point, std::int64_t) override {
    const bool begins = point == model::SyncPoint::kStepBegin;
    if ((!begins && point != model::SyncPoint::kStepEnd) || !calledBy(role_)) return;
    if (begins) {
      begun_ = Clock::now();
      return;
    }
    // Or the device would work on meanwhile, and the time would not be lost.
    c10::impl::VirtualGuardImpl(type_).synchronizeDevice(static_cast<c10::DeviceIndex>(device_));
    const Clock::time_point now = Clock::now();
    holdUntil(now + std::chrono::duration_cast<Clock::duration>((now - begun_) * percent_ / 100));
  }

 private:
  const std::string role_;
  const double percent_;
  int device_ = 0;
  c10::DeviceType type_ = c10::DeviceType::PrivateUse1;
  Clock::time_point begun_;  // touched by the role's own thread alone
};

}  // namespace

std::unique_ptr<Fault> makeStretch(JsonReader parameters) {
  auto fault = std::make_unique<Stretch>(parameters);
  parameters.finish();
  return fault;
}

}  // namespace redraft::scenarios
