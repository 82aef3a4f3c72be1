#include <chrono>
#include <cstring>
#include <utility>

#include "devices/sim/sim_driver_impl.h"

namespace redraft::devices {
namespace {

std::int64_t steadyNanos() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

std::string deviceText(int device) { return device < 0 ? "the host" : "device " + std::to_string(device); }

}  // namespace

void setWorkSink(SimDriver& driver, WorkSink sink) {
  static_cast<SimDriverImpl&>(driver).setWorkSink(std::move(sink));  // makeSimDriver() makes no other
}

template <class Work>
void SimDriverImpl::timed(const Work& work) const {
  if (!workSink_) return work();
  const std::int64_t begin = steadyNanos();
  work();
  workSink_(begin, steadyNanos() - begin);
}

SimDriverImpl::Verdict SimDriverImpl::checkLaunch(const FunctionState* function, const LaunchShape& shape,
                                                  const StreamState& stream) const {
  if (function == nullptr || function->code->unloaded.load(std::memory_order_acquire)) {
    return {Status::kInvalidHandle, "no such function, or its module was unloaded"};
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (shape.grid[axis] == 0 || shape.block[axis] == 0)
      return {Status::kInvalidValue, "the launch shape holds a zero"};
  }
  const ContextState* home = function->code->context;
  if (home == nullptr) return {};  // a library's
  if (home->destroyed.load(std::memory_order_acquire)) {
    return {Status::kContextIsDestroyed, "the function's context was destroyed"};
  }
  if (home != stream.context) {
    return {Status::kInvalidHandle, "\"" + function->name + "\" of \"" + function->code->name + "\" was loaded in " +
                                        where(*home) + ", the stream belongs to " + where(*stream.context)};
  }
  return {};
}

SimDriverImpl::Reach SimDriverImpl::reach(const std::vector<MemoryTouch>& touches, int device) {
  Reach reach;
  for (const MemoryTouch& touch : touches) {
    if (touch.bytes == 0) continue;
    const char* name = touch.name ? touch.name : "";
    const auto address = reinterpret_cast<Address>(touch.pointer);
    const auto found = memory_.find(address);
    const bool inside = found && touch.bytes <= found->allocation.bytes - (address - found->begin);
    const int owner = inside ? found->allocation.device : -1;
    if (inside && (owner == device || found->allocation.owner == MemoryOwner::kHost)) {
      if (options_.raceCheck && !found->allocation.traced) memory_.markTraced(found->begin);
      continue;
    }
    reach.foreign.push_back({name, owner, static_cast<std::int64_t>(touch.bytes), touch.written});
    if (inside && peerEnabled(device, owner)) {
      if (options_.raceCheck && !found->allocation.traced) memory_.markTraced(found->begin);
      continue;
    }
    if (!reach.illegal.empty()) continue;
    reach.illegal = "\"" + std::string(name) + "\" (" + std::to_string(touch.bytes) + " bytes), which " +
                    (inside  ? "lies on device " + std::to_string(owner) + ", without peer access"
                     : found ? "goes beyond its allocation's end"
                             : "is in no memory of a device");
  }
  return reach;
}

void SimDriverImpl::fault(const std::string& what, ContextState& context) {
  {
    const std::lock_guard lock(faultMutex_);
    if (firstFault_.empty()) firstFault_ = what;
  }
  context.faulted.store(true, std::memory_order_release);
  pendingFault_.store(true, std::memory_order_release);
}

void SimDriverImpl::noteWork(Stream stream, const char* name, std::span<const MemoryTouch> touches) {
  if (!options_.raceCheck) return;
  std::shared_ptr<const StreamState> on;
  if (findStream(stream, &on).refused() || on->context->faulted.load(std::memory_order_acquire)) return;
  if (!notesWork_.load(std::memory_order_relaxed)) notesWork_.store(true, std::memory_order_relaxed);
  checkRaces(*on, name, touches);
}

void SimDriverImpl::checkRaces(const StreamState& stream, const std::string& name,
                               std::span<const MemoryTouch> touches) {
  if (!options_.raceCheck) return;
  for (const Race& race : races_.work(stream.index, name, touches)) {
    LogRecord record = startRecord(CallKind::kRace, Status::kSuccess);
    record.name = race.later.work;
    record.stream = race.later.stream;
    record.object = race.earlier.stream;
    record.objectDevice = race.earlier.device;
    record.bytes = static_cast<std::int64_t>(race.bytes);
    record.detail = race.describe();
    log_->add(std::move(record));
  }
}

Status SimDriverImpl::launch(Function function, const LaunchShape& shape, Stream stream,
                             const LaunchArguments& arguments) {
  std::shared_ptr<const StreamState> on;
  const auto code = functions_.find(function.id);
  Verdict verdict = findStream(stream, &on);
  if (!verdict.refused()) verdict = checkLaunch(code.get(), shape, *on);
  Reach reached;
  if (!verdict.refused()) reached = reach(arguments.touches, on->context->device);
  if (!reached.illegal.empty()) {
    const Origin origin = currentOrigin();
    fault("\"" + code->name + "\" of " + roleName(origin.role) + " on device " + std::to_string(on->context->device) +
              " touched " + reached.illegal,
          *on->context);
    verdict.why = "touches " + reached.illegal;
  }
  const Status status = finish(CallKind::kLaunch, verdict.status, [&](LogRecord& record) {
    record.stream = on ? on->id : stream.id;
    record.object = function.id;
    if (code) record.name = code->name;
    if (code && code->code->context) {
      record.objectContext = code->code->context->id;
      record.objectDevice = code->code->context->device;
    }
    record.foreign = std::move(reached.foreign);
    record.detail = std::move(verdict.why);
  });
  if (status != Status::kSuccess || on->context->faulted.load(std::memory_order_acquire)) return status;
  checkRaces(*on, code->name, arguments.touches);
  timed([&] { code->kernel(const_cast<void**>(arguments.params.data())); });
  return status;
}

SimDriverImpl::Verdict SimDriverImpl::placeOf(const void* pointer, std::size_t bytes, const char* side,
                                              Place* place) const {
  if (pointer == nullptr) return {Status::kInvalidValue, std::string(side) + " is null"};
  const auto address = reinterpret_cast<Address>(pointer);
  const auto found = memory_.find(address);
  if (!found || found->allocation.owner == MemoryOwner::kHost) return {};
  if (bytes > found->allocation.bytes - (address - found->begin)) {
    return {Status::kInvalidValue, std::string(side) + " goes beyond the end of its allocation of " +
                                       std::to_string(found->allocation.bytes) + " bytes"};
  }
  *place = {found->allocation.device, found->allocation.traced, found->begin};
  return {};
}

void SimDriverImpl::checkCopyRaces(const StreamState& stream, const MemoryTouch& read, const Place& from,
                                   const MemoryTouch& written, const Place& to) {
  std::vector<MemoryTouch> touches;
  if (from.device >= 0) touches.push_back(read);
  if (to.device >= 0) touches.push_back(written);
  for (const Place& place : {from, to}) {
    if (place.device >= 0 && !place.traced) memory_.markTraced(place.begin);
  }
  checkRaces(stream, "copy", touches);
}

Status SimDriverImpl::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  std::shared_ptr<const StreamState> on;
  Place from;
  Place to;
  Verdict verdict = findStream(stream, &on);
  if (bytes > 0) {
    if (!verdict.refused()) verdict = placeOf(destination, bytes, "the destination", &to);
    if (!verdict.refused()) verdict = placeOf(source, bytes, "the source", &from);
  }
  const bool between = from.device >= 0 && to.device >= 0 && from.device != to.device;
  if (!verdict.refused() && between && !options_.topology.allowsCopy(from.device, to.device)) {
    verdict = {Status::kPeerAccessUnsupported, "the topology allows no copy from device " +
                                                   std::to_string(from.device) + " to device " +
                                                   std::to_string(to.device)};
  }
  // A copy from or to pageable host memory returns when it is done: a synchronisation of its stream.
  const bool waits = bytes > 0 && (from.device < 0 || to.device < 0);
  if (!verdict.refused() && waits) verdict = settle();
  const Status status = finish(CallKind::kCopy, verdict.status, [&](LogRecord& record) {
    record.stream = on ? on->id : stream.id;
    record.name = deviceText(from.device) + " to " + deviceText(to.device);
    record.fromDevice = from.device;
    record.toDevice = to.device;
    record.staged = between && !peerEnabled(from.device, to.device);
    record.bytes = static_cast<std::int64_t>(bytes);
    record.detail = std::move(verdict.why);
    if (!on) return;
    const int home = on->context->device;
    if (from.device >= 0 && from.device != home) record.foreign.push_back({"source", from.device, record.bytes, false});
    if (to.device >= 0 && to.device != home) record.foreign.push_back({"destination", to.device, record.bytes, true});
  });
  if (status != Status::kSuccess || bytes == 0 || on->context->faulted.load(std::memory_order_acquire)) return status;
  if (options_.raceCheck) {
    checkCopyRaces(*on, {"source", source, bytes, false}, from, {"destination", destination, bytes, true}, to);
    if (waits) races_.synchronized(on->index);
  }
  timed([&] { std::memmove(destination, source, bytes); });
  return status;
}

}  // namespace redraft::devices
