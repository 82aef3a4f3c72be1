#include <algorithm>
#include <utility>

#include "devices/sim/sim_driver_impl.h"

namespace redraft::devices {
namespace {

struct ThreadSlot {
  std::uint64_t serial = 0;
  ContextState* context = nullptr;
};

// The slot used last, and those of other drivers (tests have several). A slot whose driver is gone is never asked for
// again: serials are not reused.
thread_local ThreadSlot latest;
thread_local bool othersGone = false;  // tensors in static storage are freed after the thread's own objects have gone

struct OtherSlots {
  std::vector<ThreadSlot> slots;
  ~OtherSlots() { othersGone = true; }
};
thread_local OtherSlots others;

ContextState*& switchDriver(std::uint64_t serial) {
  const ThreadSlot former = std::exchange(latest, {serial, nullptr});
  if (othersGone) return latest.context;
  auto& slots = others.slots;
  if (former.context != nullptr) slots.push_back(former);
  const auto slot =
      std::find_if(slots.begin(), slots.end(), [&](const ThreadSlot& each) { return each.serial == serial; });
  if (slot != slots.end()) {
    latest = *slot;
    slots.erase(slot);
  }
  return latest.context;
}

}  // namespace

ContextState*& threadContext(std::uint64_t driverSerial) {
  if (latest.serial == driverSerial) [[likely]]
    return latest.context;
  return switchDriver(driverSerial);
}

ContextState* SimDriverImpl::contextState(Context context) const {
  return context.id >> 32 == serial_ ? contexts_.find(context.id & 0xFFFFFFFFu) : nullptr;
}

/// Null when the table is full.
ContextState* SimDriverImpl::addContext(int device, bool primary) {
  if (nextContext_ == ContextTable::kCapacity) return nullptr;
  auto context = std::make_unique<ContextState>();
  ContextState* made = context.get();
  const std::uint64_t number = nextContext_++;
  made->id = (serial_ << 32) | number;
  made->device = device;
  made->primary = primary;
  made->defaultStream = makeStream(made);
  contexts_.add(number, std::move(context));
  return made;
}

Status SimDriverImpl::primaryContext(int device, Context* context) {
  *context = {};
  if (!validDevice(device)) {
    return finish(CallKind::kContext, {Status::kInvalidDevice, "there is no device " + std::to_string(device)});
  }
  ContextState* primary = devices_[device].primary.load(std::memory_order_acquire);
  bool made = false;
  if (primary == nullptr) {
    const std::lock_guard lock(contextMutex_);
    primary = devices_[device].primary.load(std::memory_order_relaxed);
    if (primary == nullptr) {
      primary = addContext(device, true);
      made = primary != nullptr;
      devices_[device].primary.store(primary, std::memory_order_release);
    }
  }
  if (primary == nullptr) return finish(CallKind::kContext, {Status::kOutOfMemory, "too many contexts"});
  *context = {primary->id};
  Verdict verdict = poison();
  if (!made && !verdict.refused()) return Status::kSuccess;
  return finish(CallKind::kContext, verdict.status, [&](LogRecord& record) {
    record.object = record.objectContext = primary->id;
    record.objectDevice = device;
    record.name = "primary";
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::createContext(int device, Context* context) {
  *context = {};
  if (Verdict verdict = poison(); verdict.refused()) return finish(CallKind::kContext, std::move(verdict));
  if (!validDevice(device)) {
    return finish(CallKind::kContext, {Status::kInvalidDevice, "there is no device " + std::to_string(device)});
  }
  ContextState* made = nullptr;
  {
    const std::lock_guard lock(contextMutex_);
    made = addContext(device, false);
  }
  if (made == nullptr) return finish(CallKind::kContext, {Status::kOutOfMemory, "too many contexts"});
  *context = {made->id};
  return finish(CallKind::kContext, Status::kSuccess, [&](LogRecord& record) {
    record.object = record.objectContext = made->id;
    record.objectDevice = device;
    record.name = "created";
  });
}

Status SimDriverImpl::destroyContext(Context context) {
  ContextState* state = contextState(context);
  Verdict verdict = poison();
  if (!verdict.refused() && state == nullptr) verdict = {Status::kInvalidContext, "no such context"};
  if (!verdict.refused() && state->primary)
    verdict = {Status::kInvalidContext, "a primary context cannot be destroyed"};
  if (!verdict.refused() && state->destroyed.exchange(true)) {
    verdict = {Status::kContextIsDestroyed, "it was destroyed before"};
  }
  if (verdict.refused()) return finish(CallKind::kContext, std::move(verdict), "destroyed", context.id);
  if (threadContext(serial_) == state) threadContext(serial_) = nullptr;
  for (const AddressMap::Found& found : memory_.takeContext(state->id)) drop(found);
  return finish(CallKind::kContext, Status::kSuccess, [&](LogRecord& record) {
    record.object = record.objectContext = state->id;
    record.objectDevice = state->device;
    record.name = "destroyed";
  });
}

Status SimDriverImpl::setCurrent(Context context) {
  ContextState* state = nullptr;
  if (context) {
    state = contextState(context);
    if (state == nullptr)
      return finish(CallKind::kSetCurrent, {Status::kInvalidContext, "no such context"}, "", context.id);
    if (state->destroyed.load(std::memory_order_acquire)) {
      return finish(CallKind::kSetCurrent, {Status::kContextIsDestroyed, "it was destroyed"}, "", context.id);
    }
  }
  threadContext(serial_) = state;
  if (poisoned_.load(std::memory_order_acquire)) [[unlikely]]
    return finish(CallKind::kSetCurrent, poison(), "", context.id);
  return finish(CallKind::kSetCurrent, Status::kSuccess, [&](LogRecord& record) { record.object = context.id; });
}

Status SimDriverImpl::current(Context* context) {
  const ContextState* state = threadContext(serial_);
  *context = {state ? state->id : 0};
  return poisoned_.load(std::memory_order_acquire) ? Status::kIllegalAddress : Status::kSuccess;
}

Status SimDriverImpl::contextDevice(Context context, int* device) {
  const ContextState* state = contextState(context);
  *device = state ? state->device : -1;
  if (state == nullptr)
    return finish(CallKind::kQuery, {Status::kInvalidContext, "no such context"}, "contextDevice", context.id);
  return poisoned_.load(std::memory_order_acquire) ? Status::kIllegalAddress : Status::kSuccess;
}

SimDriverImpl::Verdict SimDriverImpl::needCurrent(ContextState** context) {
  if (Verdict verdict = poison(); verdict.refused()) return verdict;
  *context = threadContext(serial_);
  if (*context == nullptr) return {Status::kInvalidContext, "no context is current on this thread"};
  if ((*context)->destroyed.load(std::memory_order_acquire)) {
    return {Status::kContextIsDestroyed, "the current context was destroyed"};
  }
  return {};
}

}  // namespace redraft::devices
