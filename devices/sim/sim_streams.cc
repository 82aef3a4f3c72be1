#include <chrono>
#include <utility>

#include "devices/sim/sim_driver_impl.h"

namespace redraft::devices {
namespace {

std::int64_t nowNanos() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

void nameOwner(LogRecord& record, const ContextState& context) {
  record.objectContext = context.id;
  record.objectDevice = context.device;
}

}  // namespace

std::shared_ptr<const StreamState> SimDriverImpl::makeStream(ContextState* context) {
  StreamState state{nextId(), context, 0};
  state.index = races_.addStream(state.id, context->id, context->device);
  return std::make_shared<const StreamState>(state);
}

SimDriverImpl::Verdict SimDriverImpl::findStream(Stream stream, std::shared_ptr<const StreamState>* found) {
  ContextState* context = nullptr;
  if (Verdict verdict = needCurrent(&context); verdict.refused()) return verdict;
  *found = stream ? streams_.find(stream.id) : context->defaultStream;
  if (*found == nullptr) return {Status::kInvalidHandle, "no such stream"};
  if ((*found)->context->destroyed) return {Status::kContextIsDestroyed, "the stream's context was destroyed"};
  return {};
}

SimDriverImpl::Verdict SimDriverImpl::findEvent(Event event, std::shared_ptr<EventState>* found) const {
  if (Verdict verdict = poison(); verdict.refused()) return verdict;
  *found = events_.find(event.id);
  if (*found == nullptr) return {Status::kInvalidHandle, "no such event"};
  if ((*found)->context->destroyed) return {Status::kContextIsDestroyed, "the event's context was destroyed"};
  return {};
}

Status SimDriverImpl::createStream(Stream* stream) {
  *stream = {};
  ContextState* context = nullptr;
  if (Verdict verdict = needCurrent(&context); verdict.refused()) {
    return finish(CallKind::kStreamCreate, std::move(verdict));
  }
  const auto made = makeStream(context);
  streams_.add(made->id, made);
  *stream = {made->id};
  return finish(CallKind::kStreamCreate, Status::kSuccess, [&](LogRecord& record) {
    record.object = record.stream = made->id;
    nameOwner(record, *context);
  });
}

Status SimDriverImpl::destroyStream(Stream stream) {
  const auto taken = streams_.take(stream.id);
  Verdict verdict = poison();
  if (!verdict.refused() && !taken) verdict = {Status::kInvalidHandle, "no such stream"};
  return finish(CallKind::kStreamDestroy, std::move(verdict), "", stream.id);
}

/// Handles are ids here, so there is nothing to remember; a wrong one is refused like any other call's.
Status SimDriverImpl::adoptStream(void* native, Stream* stream) {
  *stream = {reinterpret_cast<std::uintptr_t>(native)};
  Verdict verdict = poison();
  if (!verdict.refused() && *stream && streams_.find(stream->id) == nullptr) {
    verdict = {Status::kInvalidHandle, "no such stream"};
    *stream = {};
  }
  if (!verdict.refused()) return Status::kSuccess;
  return finish(CallKind::kQuery, std::move(verdict), "stream", reinterpret_cast<std::uintptr_t>(native));
}

SimDriverImpl::Verdict SimDriverImpl::settle() {
  if (pendingFault_.load(std::memory_order_acquire)) poisoned_.store(true, std::memory_order_release);
  return poison();
}

Status SimDriverImpl::waitForStream(CallKind kind, Stream stream) {
  std::shared_ptr<const StreamState> found;
  Verdict verdict = findStream(stream, &found);
  if (!verdict.refused()) verdict = settle();
  if (!verdict.refused() && options_.raceCheck) races_.synchronized(found->index);
  return finish(kind, verdict.status, [&](LogRecord& record) {
    record.stream = record.object = found ? found->id : stream.id;
    if (found) nameOwner(record, *found->context);
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::synchronizeStream(Stream stream) { return waitForStream(CallKind::kSynchronize, stream); }
Status SimDriverImpl::queryStream(Stream stream) { return waitForStream(CallKind::kQuery, stream); }

Status SimDriverImpl::synchronizeContext() {
  ContextState* context = nullptr;
  Verdict verdict = needCurrent(&context);
  if (!verdict.refused()) verdict = settle();
  if (!verdict.refused() && options_.raceCheck) races_.synchronizedContext(context->id);
  return finish(CallKind::kSynchronize, std::move(verdict), "context", context ? context->id : 0);
}

void SimDriverImpl::publish(HostMark& mark) {
  if (options_.raceCheck) races_.publish(mark);
}

void SimDriverImpl::observe(const HostMark& mark) {
  if (options_.raceCheck) races_.observe(mark);
}

Status SimDriverImpl::createEvent(Event* event) {
  *event = {};
  ContextState* context = nullptr;
  if (Verdict verdict = needCurrent(&context); verdict.refused()) {
    return finish(CallKind::kEventCreate, std::move(verdict));
  }
  const auto made = std::make_shared<EventState>();
  made->id = nextId();
  made->context = context;
  *event = {made->id};
  events_.add(made->id, made);
  return finish(CallKind::kEventCreate, Status::kSuccess, [&](LogRecord& record) {
    record.object = event->id;
    nameOwner(record, *context);
  });
}

Status SimDriverImpl::destroyEvent(Event event) {
  const auto taken = events_.take(event.id);
  Verdict verdict = poison();
  if (!verdict.refused() && !taken) verdict = {Status::kInvalidHandle, "no such event"};
  return finish(CallKind::kEventDestroy, std::move(verdict), "", event.id);
}

Status SimDriverImpl::recordEvent(Event event, Stream stream) {
  std::shared_ptr<const StreamState> on;
  std::shared_ptr<EventState> found;
  Verdict verdict = findStream(stream, &on);
  if (!verdict.refused()) verdict = findEvent(event, &found);
  if (!verdict.refused() && found->context != on->context) {
    verdict = {Status::kInvalidHandle,
               "the event belongs to " + where(*found->context) + ", the stream to " + where(*on->context)};
  }
  if (!verdict.refused()) {
    const std::lock_guard lock(found->mutex);
    found->recorded = true;
    found->nanos = nowNanos();
    if (options_.raceCheck) found->clock = races_.record(on->index);
  }
  return finish(CallKind::kEventRecord, verdict.status, [&](LogRecord& record) {
    record.object = event.id;
    record.stream = on ? on->id : stream.id;
    if (found) nameOwner(record, *found->context);
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::waitEvent(Stream stream, Event event) {
  std::shared_ptr<const StreamState> on;
  std::shared_ptr<EventState> found;
  Verdict verdict = findStream(stream, &on);
  if (!verdict.refused()) verdict = findEvent(event, &found);
  if (!verdict.refused() && options_.raceCheck) {
    const std::lock_guard lock(found->mutex);
    races_.wait(on->index, found->clock);
  }
  return finish(CallKind::kEventWait, verdict.status, [&](LogRecord& record) {
    record.object = event.id;
    record.stream = on ? on->id : stream.id;
    if (found) nameOwner(record, *found->context);
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::waitForEvent(CallKind kind, Event event) {
  std::shared_ptr<EventState> found;
  Verdict verdict = findEvent(event, &found);
  if (!verdict.refused()) verdict = settle();
  if (!verdict.refused() && options_.raceCheck) {
    const std::lock_guard lock(found->mutex);
    races_.synchronized(found->clock);
  }
  return finish(kind, verdict.status, [&](LogRecord& record) {
    record.object = event.id;
    if (found) nameOwner(record, *found->context);
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::queryEvent(Event event) { return waitForEvent(CallKind::kQuery, event); }
Status SimDriverImpl::synchronizeEvent(Event event) { return waitForEvent(CallKind::kSynchronize, event); }

Status SimDriverImpl::elapsedMillis(Event start, Event end, float* millis) {
  *millis = 0;
  std::shared_ptr<EventState> first;
  std::shared_ptr<EventState> last;
  Verdict verdict = findEvent(start, &first);
  if (!verdict.refused()) verdict = findEvent(end, &last);
  if (!verdict.refused() && first->context != last->context) {
    verdict = {Status::kInvalidHandle,
               "the events belong to " + where(*first->context) + " and " + where(*last->context)};
  }
  if (!verdict.refused()) {
    const auto read = [](EventState& event, std::int64_t* nanos) {
      const std::lock_guard lock(event.mutex);
      *nanos = event.nanos;
      return event.recorded;
    };
    std::int64_t from = 0;
    std::int64_t to = 0;
    if (read(*first, &from) && read(*last, &to)) {
      *millis = static_cast<float>(static_cast<double>(to - from) * 1e-6);
    } else {
      verdict = {Status::kInvalidHandle, "an event was never recorded"};
    }
  }
  return finish(CallKind::kElapsed, std::move(verdict), "", end.id);
}

}  // namespace redraft::devices
