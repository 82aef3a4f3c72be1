// Page-locked host memory: ordinary host memory, registered with the driver so that kernels may touch it.
#include <c10/core/CPUAllocator.h>

#include <map>
#include <mutex>

#include "model/sim/sim_state.h"
#include "model/sim/sim_storage.h"

namespace redraft::model::sim {
namespace {

class PinnedRanges {
 public:
  void add(const void* begin, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ranges_[begin] = bytes;
  }
  void remove(const void* begin) {
    const std::lock_guard lock(mutex_);
    ranges_.erase(begin);
  }
  bool holds(const void* pointer) const {
    const std::lock_guard lock(mutex_);
    auto next = ranges_.upper_bound(pointer);
    if (next == ranges_.begin()) return false;
    --next;
    return pointer < static_cast<const char*>(next->first) + next->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<const void*, std::size_t> ranges_;
};

PinnedRanges& pinnedRanges() {
  static auto* const ranges = new PinnedRanges;  // kept: tensors may die after static objects
  return *ranges;
}

void releasePinned(void* pointer) {
  pinnedRanges().remove(pointer);
  logRefusal(driver().unregisterHost(pointer), "unregisterHost", -1);
  c10::GetDefaultCPUAllocator()->raw_deleter()(pointer);
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::DeviceType::CPU)};
    auto memory = c10::GetDefaultCPUAllocator()->allocate(bytes);
    void* const pointer = memory.get();
    devices::check(driver().registerHost(pointer, bytes), "registerHost", -1, std::to_string(bytes) + " bytes");
    pinnedRanges().add(pointer, bytes);
    memory.release_context();
    return {pointer, pointer, &releasePinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &releasePinned; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
};

}  // namespace

c10::Allocator* pinnedAllocator() {
  static auto* const allocator = new PinnedAllocator;
  return allocator;
}

bool isPinned(const void* pointer) { return pinnedRanges().holds(pointer); }

}  // namespace redraft::model::sim
