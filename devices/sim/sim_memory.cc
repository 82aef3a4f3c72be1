#include <algorithm>
#include <cstdlib>
#include <utility>

#include "devices/sim/sim_driver_impl.h"

namespace redraft::devices {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and AVX-512's vectors

}  // namespace

/// Counts `bytes` as live on the device, unless they exceed its memory.
SimDriverImpl::Verdict SimDriverImpl::reserve(int device, std::size_t bytes) {
  DeviceState& state = devices_[device];
  const auto capacity = static_cast<std::int64_t>(options_.deviceBytes);
  std::int64_t live = state.live.load(std::memory_order_relaxed);
  do {
    if (bytes > options_.deviceBytes || static_cast<std::int64_t>(bytes) > capacity - live) {
      return {Status::kOutOfMemory, std::to_string(bytes) + " bytes asked for, " + std::to_string(capacity - live) +
                                        " of " + std::to_string(capacity) + " remain on device " +
                                        std::to_string(device)};
    }
  } while (!state.live.compare_exchange_weak(live, live + static_cast<std::int64_t>(bytes), std::memory_order_relaxed));
  live += static_cast<std::int64_t>(bytes);
  std::int64_t peak = state.peak.load(std::memory_order_relaxed);
  while (peak < live && !state.peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  state.segments.fetch_add(1, std::memory_order_relaxed);
  state.allocations.fetch_add(1, std::memory_order_relaxed);
  return {};
}

void SimDriverImpl::unreserve(int device, std::size_t bytes) {
  devices_[device].live.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  devices_[device].segments.fetch_sub(1, std::memory_order_relaxed);
}

void SimDriverImpl::countRole(int device, std::size_t bytes) {
  const RoleId role = currentOrigin().role;
  RoleCount& count = roles_[(role < kRoles ? role : 0) * devices_.size() + device];
  count.bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  count.allocations.fetch_add(1, std::memory_order_relaxed);
}

void SimDriverImpl::forget(Address begin, const Allocation& allocation) {
  if (allocation.traced || notesWork_.load(std::memory_order_relaxed)) races_.forget(begin, allocation.bytes);
  if (allocation.device >= 0) unreserve(allocation.device, allocation.bytes);
}

void SimDriverImpl::drop(const AddressMap::Found& found) {
  forget(found.begin, found.allocation);
  if (found.allocation.owner == MemoryOwner::kDriver) std::free(reinterpret_cast<void*>(found.begin));
}

Status SimDriverImpl::allocate(std::size_t bytes, void** pointer) {
  *pointer = nullptr;
  ContextState* context = nullptr;
  Verdict verdict = needCurrent(&context);
  if (!verdict.refused() && bytes == 0) verdict = {Status::kInvalidValue, "nothing to allocate"};
  if (!verdict.refused()) verdict = reserve(context->device, bytes);
  void* made = nullptr;
  if (!verdict.refused() && ::posix_memalign(&made, kAlignment, bytes) != 0) {
    unreserve(context->device, bytes);
    verdict = {Status::kOutOfMemory,
               "the host has no " + std::to_string(bytes) + " bytes left to stand in for a device"};
  }
  if (verdict.refused()) [[unlikely]] {
    return finish(CallKind::kAllocate, verdict.status, [&](LogRecord& record) {
      record.bytes = static_cast<std::int64_t>(bytes);
      record.detail = std::move(verdict.why);
    });
  }
  memory_.insert(reinterpret_cast<Address>(made), {bytes, context->device, MemoryOwner::kDriver, false, context->id});
  countRole(context->device, bytes);
  *pointer = made;
  return finish(CallKind::kAllocate, Status::kSuccess, [&](LogRecord& record) {
    record.object = reinterpret_cast<Address>(made);
    record.objectDevice = context->device;
    record.objectContext = context->id;
    record.bytes = static_cast<std::int64_t>(bytes);
  });
}

Status SimDriverImpl::free(void* pointer) {
  if (pointer == nullptr) return finish(CallKind::kFree, poison());
  const auto address = reinterpret_cast<Address>(pointer);
  const auto allocation = memory_.erase(address, MemoryOwner::kDriver);
  if (allocation) drop({address, *allocation});
  Verdict verdict;
  if (!allocation) verdict = {Status::kInvalidValue, "no allocation begins there"};
  if (poisoned_.load(std::memory_order_acquire)) [[unlikely]]
    verdict = poison();
  return finish(CallKind::kFree, verdict.status, [&](LogRecord& record) {
    record.object = address;
    record.objectDevice = allocation ? allocation->device : -1;
    record.bytes = allocation ? static_cast<std::int64_t>(allocation->bytes) : 0;
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::pointerDevice(const void* pointer, int* device) {
  const auto found = memory_.find(reinterpret_cast<Address>(pointer));
  *device = found ? found->allocation.device : -1;
  if (poisoned_.load(std::memory_order_acquire)) return Status::kIllegalAddress;
  return *device < 0 ? Status::kInvalidValue : Status::kSuccess;
}

Status SimDriverImpl::memoryInfo(int device, MemoryInfo* info) {
  *info = {};
  if (!validDevice(device)) {
    return finish(CallKind::kQuery, {Status::kInvalidDevice, "there is no device " + std::to_string(device)},
                  "memoryInfo");
  }
  const DeviceState& state = devices_[device];
  info->live = state.live.load(std::memory_order_relaxed);
  info->peak = state.peak.load(std::memory_order_relaxed);
  info->segments = state.segments.load(std::memory_order_relaxed);
  info->allocations = state.allocations.load(std::memory_order_relaxed);
  return poisoned_.load(std::memory_order_acquire) ? Status::kIllegalAddress : Status::kSuccess;
}

Status SimDriverImpl::resetPeak(int device) {
  if (!validDevice(device)) {
    return finish(CallKind::kQuery, {Status::kInvalidDevice, "there is no device " + std::to_string(device)},
                  "resetPeak");
  }
  DeviceState& state = devices_[device];
  state.peak.store(state.live.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return poisoned_.load(std::memory_order_acquire) ? Status::kIllegalAddress : Status::kSuccess;
}

Status SimDriverImpl::adoptMemory(const void* pointer, std::size_t bytes, int device) {
  Verdict verdict = poison();
  if (!verdict.refused() && !validDevice(device)) {
    verdict = {Status::kInvalidDevice, "there is no device " + std::to_string(device)};
  }
  if (!verdict.refused() && (pointer == nullptr || bytes == 0)) verdict = {Status::kInvalidValue, "nothing to adopt"};
  if (!verdict.refused()) verdict = reserve(device, bytes);
  const auto address = reinterpret_cast<Address>(pointer);
  if (!verdict.refused() && !memory_.insert(address, {bytes, device, MemoryOwner::kCaller, false, 0})) {
    unreserve(device, bytes);
    verdict = {Status::kInvalidValue, "the memory is known already"};
  }
  if (!verdict.refused()) countRole(device, bytes);
  return finish(CallKind::kAllocate, verdict.status, [&](LogRecord& record) {
    record.name = "adopted";
    record.object = address;
    record.objectDevice = device;
    record.bytes = static_cast<std::int64_t>(bytes);
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::releaseMemory(const void* pointer) {
  const auto address = reinterpret_cast<Address>(pointer);
  const auto allocation = memory_.erase(address, MemoryOwner::kCaller);
  if (allocation) forget(address, *allocation);
  Verdict verdict = poison();
  if (!verdict.refused() && !allocation) verdict = {Status::kInvalidValue, "no adopted memory begins there"};
  return finish(CallKind::kFree, std::move(verdict), "adopted", address);
}

Status SimDriverImpl::registerHost(const void* pointer, std::size_t bytes) {
  Verdict verdict = poison();
  const auto address = reinterpret_cast<Address>(pointer);
  if (!verdict.refused() && (pointer == nullptr || bytes == 0))
    verdict = {Status::kInvalidValue, "nothing to register"};
  if (!verdict.refused() && !memory_.insert(address, {bytes, -1, MemoryOwner::kHost, false, 0})) {
    verdict = {Status::kInvalidValue, "the memory is known already"};
  }
  return finish(CallKind::kHostMemory, std::move(verdict), "register", address);
}

Status SimDriverImpl::unregisterHost(const void* pointer) {
  const auto address = reinterpret_cast<Address>(pointer);
  const auto allocation = memory_.erase(address, MemoryOwner::kHost);
  if (allocation) forget(address, *allocation);
  Verdict verdict = poison();
  if (!verdict.refused() && !allocation) verdict = {Status::kInvalidValue, "no registered memory begins there"};
  return finish(CallKind::kHostMemory, std::move(verdict), "unregister", address);
}

std::vector<RoleMemory> SimDriverImpl::roleMemory() const {
  std::vector<RoleMemory> all;
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    const std::int64_t allocations = roles_[i].allocations.load(std::memory_order_relaxed);
    if (allocations == 0) continue;
    all.push_back({static_cast<RoleId>(i / devices_.size()), static_cast<int>(i % devices_.size()),
                   roles_[i].bytes.load(std::memory_order_relaxed), allocations});
  }
  return all;
}

}  // namespace redraft::devices
