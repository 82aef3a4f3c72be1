#pragma once
// How long a device's stream waited, by the stream's own clock: an event before the wait and one behind it. A host
// clock would count what the host did meanwhile, and miss a wait that the stream does alone.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>
#include <utility>
#include <vector>

namespace redraft::model {

/// For one thread. On the CPU, which has no streams, every time is 0.
class DeviceStopwatch {
 public:
  explicit DeviceStopwatch(at::Device device) : device_(device) {}

  /// On the current stream of the device.
  void begin();
  void end();
  /// Seconds between all begin() and end() since the last call. The caller knows that the stream is past them.
  double takeSeconds();

 private:
  c10::Event mark() const;

  const at::Device device_;
  std::optional<c10::Event> begun_;
  std::vector<std::pair<c10::Event, c10::Event>> intervals_;
};

}  // namespace redraft::model
