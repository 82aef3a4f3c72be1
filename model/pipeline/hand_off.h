#pragma once
// Tensors on their way from one role to another. The giver's stream records an event behind them; the taker's stream
// waits for it and copies. Both ends are declared (Instrument::declarations), so that a trace shows a wait that is
// missing. On devices without streams (the CPU) there is nothing to wait for.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/declarations.h"

namespace redraft::model {

/// A stream as it is declared.
devices::StreamPlace placeOf(c10::Stream stream);

class HandOff {
 public:
  HandOff() = default;
  /// On the giver's thread. All tensors are on one device; they are not written any more.
  explicit HandOff(std::vector<at::Tensor> tensors);

  /// The tensors where they are, for reading on their own device.
  const std::vector<at::Tensor>& tensors() const { return *tensors_; }

  /// On the taker's thread: makes its current stream on `device` wait until the tensors are ready, and keeps the
  /// giver's allocator from handing their memory out again before what that stream does next with them is done. Copies
  /// from the giver's device run on a stream there that is the thread's own.
  void acquire(at::Device device) const;
  /// acquire(), then copies to `device` (no copy where they are there already).
  std::vector<at::Tensor> receive(at::Device device) const;

 private:
  std::shared_ptr<const std::vector<at::Tensor>> tensors_;  // null: an empty hand-off
  std::shared_ptr<c10::Event> ready_;
  std::uint32_t number_ = 0;  // as declared; 0: nobody looks
};

}  // namespace redraft::model
