#pragma once
// Which role, step and phase made a call, by the call's correlation. Written on the calling thread when the call
// begins, read when its records are parsed.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "devices/origin.h"

namespace redraft::harness {

/// A slot a correlation, reused after as many calls as there are slots: no lock, no allocation and no thread-local, so
/// that autograd's threads and threads that come and go cost the same. A slot that was overwritten is noticed.
class OriginTable {
 public:
  /// `slots` is a power of two.
  explicit OriginTable(std::size_t slots) : slots_(new Slot[slots]()), mask_(slots - 1) {}

  std::size_t slots() const { return mask_ + 1; }

  void put(std::uint32_t correlation, const devices::Origin& origin) {
    Slot& slot = slots_[correlation & mask_];
    // Invalid while it is written: a reader that sees the new step sees that the key was taken away, or is new too.
    slot.key.store(0, std::memory_order_relaxed);
    slot.step.store(origin.step, std::memory_order_release);
    slot.key.store(keyOf(correlation, origin), std::memory_order_release);
  }

  /// A later call took the slot. Of a call that was under way when the capture began there is nothing either, and
  /// nothing is lost.
  bool overwritten(std::uint32_t correlation) const {
    const std::uint64_t key = slots_[correlation & mask_].key.load(std::memory_order_acquire);
    const auto age = static_cast<std::int32_t>(static_cast<std::uint32_t>(key >> 32) - correlation);
    return key != 0 && age > 0;
  }

  /// Nothing when the call was never put, or its slot was taken by a later one.
  std::optional<devices::Origin> find(std::uint32_t correlation) const {
    const Slot& slot = slots_[correlation & mask_];
    const std::uint64_t key = slot.key.load(std::memory_order_acquire);
    const std::int64_t step = slot.step.load(std::memory_order_acquire);
    if (key == 0 || static_cast<std::uint32_t>(key >> 32) != correlation) return std::nullopt;
    if (slot.key.load(std::memory_order_relaxed) != key) return std::nullopt;
    return devices::Origin{static_cast<devices::RoleId>(key >> 16 & 0xffff),
                           static_cast<devices::Phase>(key >> 8 & 0xff), step};
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> key{0};  // correlation, role, phase, and 1
    std::atomic<std::int64_t> step{-1};
  };
  static std::uint64_t keyOf(std::uint32_t correlation, const devices::Origin& origin) {
    return std::uint64_t{correlation} << 32 | std::uint64_t{origin.role} << 16 |
           static_cast<std::uint64_t>(origin.phase) << 8 | 1;
  }

  const std::unique_ptr<Slot[]> slots_;
  const std::size_t mask_;
};

}  // namespace redraft::harness
