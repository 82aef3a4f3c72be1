#include "model/pipeline/device_stopwatch.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"

namespace redraft::model {

c10::Event DeviceStopwatch::mark() const {
  const c10::DeviceGuard guard(device_);
  c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);  // LibTorch's own default keeps no time
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return event;
}

void DeviceStopwatch::begin() {
  if (!device_.is_cpu()) begun_ = mark();
}

void DeviceStopwatch::end() {
  if (device_.is_cpu()) return;
  REDRAFT_CHECK(begun_.has_value(), "a time has a beginning");
  intervals_.emplace_back(std::move(*begun_), mark());
  begun_.reset();
}

double DeviceStopwatch::takeSeconds() {
  constexpr double kMillis = 1e-3;
  double seconds = 0;
  for (const auto& [from, to] : intervals_) seconds += kMillis * from.elapsedTime(to);
  intervals_.clear();
  return seconds;
}

}  // namespace redraft::model
