#include "harness/probe/declaration_log.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "harness/probe/capture_clock.h"

namespace redraft::harness {

DeclarationLog::DeclarationLog(const CuptiApi& api, devices::Origin (*currentOrigin)())
    : api_(api), currentOrigin_(currentOrigin) {
  known_.reserve(64);
  declared_.ends.reserve(std::size_t{1} << 12);
}

std::uint32_t DeclarationLog::given(const devices::StreamPlace& stream, std::int64_t bytes) {
  DeclaredEnd end;
  {
    const std::lock_guard lock(mutex_);
    end.handOff = ++handOffs_;
  }
  end.bytes = bytes;
  add(declared_.ends, end, stream);
  return end.handOff;
}

void DeclarationLog::taken(std::uint32_t handOff, const devices::StreamPlace& stream, std::int64_t bytes) {
  DeclaredEnd end;
  end.handOff = handOff;
  end.taken = true;
  end.bytes = bytes;
  add(declared_.ends, end, stream);
}

void DeclarationLog::owns(const devices::StreamPlace& stream) { add(declared_.own, {}, stream); }

void DeclarationLog::joined(const devices::Communicator& communicator) {
  const std::lock_guard lock(mutex_);
  declared_.communicators.push_back(communicator);
}

void DeclarationLog::issued(const devices::CollectiveCall& call) {
  DeclaredCollective collective{call.communicator, call.what,  call.beganNs,    captureClockNs(),
                                ::gettid(),        call.bytes, currentOrigin_()};
  const std::lock_guard lock(mutex_);
  declared_.collectives.push_back(std::move(collective));
}

void DeclarationLog::add(std::vector<DeclaredEnd>& list, DeclaredEnd end, const devices::StreamPlace& stream) {
  end.timeNs = captureClockNs();
  end.thread = ::gettid();
  end.origin = currentOrigin_();
  end.device = stream.device;
  const std::lock_guard lock(mutex_);
  const auto known = find(stream);
  if (!known) {
    ++lost_;
    return;
  }
  end.context = known->context;
  end.stream = known->stream;
  list.push_back(end);
}

std::optional<DeclarationLog::Known> DeclarationLog::find(const devices::StreamPlace& stream) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.place.native == stream.native && (stream.native != nullptr || known.place.device == stream.device);
  });
  if (found != known_.end()) return *found;
  const auto asked = ask(stream);
  if (asked) known_.push_back(*asked);
  return asked;
}

std::optional<DeclarationLog::Known> DeclarationLog::ask(const devices::StreamPlace& stream) const {
  CUcontext context = nullptr;
  auto* const handle = static_cast<CUstream>(stream.native);
  // A default stream is a primary context's, which is there: it is retained once more, for the rest of the process.
  const CUresult found = handle == nullptr ? api_.cuDevicePrimaryCtxRetain(&context, stream.device)
                                           : api_.cuStreamGetCtx(handle, &context);
  std::uint32_t contextId = 0, streamId = 0;
  if (found != CUDA_SUCCESS || api_.cuptiGetContextId(context, &contextId) != CUPTI_SUCCESS) return std::nullopt;
  Known known{stream, static_cast<std::int32_t>(contextId), -1};
  if (handle == nullptr) return known;
  if (api_.cuptiGetStreamIdEx(nullptr, handle, 0, &streamId) != CUPTI_SUCCESS) return std::nullopt;
  known.stream = static_cast<std::int32_t>(streamId);
  return known;
}

Declared DeclarationLog::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(declared_, {});
}

std::int64_t DeclarationLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace redraft::harness
