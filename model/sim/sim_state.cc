#include "model/sim/sim_state.h"

#include <c10/util/Exception.h>

#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace redraft::model::sim {
namespace {

std::array<std::atomic<std::uint64_t>, kMaxDevices> primaryContexts{};  // context id; 0: not asked for yet

/// The last context seen on this thread and its device: spares a look-up in the driver at every op.
struct SeenContext {
  std::uint64_t context = 0;
  int device = 0;
};
thread_local SeenContext seenContext;
thread_local std::array<c10::StreamId, kMaxDevices> currentStreams{};

/// Queries and bindings answer on a poisoned process too, and the guard must work while it unwinds: autograd's threads
/// have nobody to throw to. The next operation is refused all the same.
void answered(devices::Status status, const char* call, int device) {
  if (status != devices::Status::kSuccess && status != devices::Status::kIllegalAddress) [[unlikely]]
    devices::check(status, call, device);
}

devices::Context primaryContext(int device) {
  TORCH_CHECK(device >= 0 && device < state().deviceCount, "sim: device ", device, " does not exist; there are ",
              state().deviceCount);
  auto& known = primaryContexts[device];
  devices::Context context{known.load(std::memory_order_acquire)};
  if (!context) {
    answered(driver().primaryContext(device, &context), "primaryContext", device);
    known.store(context.id, std::memory_order_release);
  }
  return context;
}

devices::Context boundContext() {
  devices::Context context;
  answered(driver().current(&context), "current", -1);
  return context;
}

int deviceOf(devices::Context context) {
  if (context.id != seenContext.context) {
    int device = -1;
    answered(driver().contextDevice(context, &device), "contextDevice", -1);
    seenContext = {context.id, device};
  }
  return seenContext.device;
}

}  // namespace

State& state() {
  static State* const instance = new State;  // kept: tensors may die after static objects
  return *instance;
}

int currentDevice() {
  const auto context = boundContext();
  return context ? deviceOf(context) : 0;
}

void setCurrentDevice(int device) {
  const auto context = primaryContext(device);
  answered(driver().setCurrent(context), "setCurrent", device);
  seenContext = {context.id, device};
}

void restoreCurrentDevice(int device) noexcept {
  try {
    // As LibTorch on CUDA: to go back makes no context. A thread that none is bound to is on device 0.
    if (device == 0 && !deviceHasContext(0)) {
      answered(driver().setCurrent({}), "setCurrent", device);
    } else {
      setCurrentDevice(device);
    }
  } catch (const devices::DeviceError& error) {
    logRefusal(error.status(), "setCurrent", device);
  } catch (const std::exception& error) {
    log(LogLevel::kWarning, std::string("sim: cannot restore the current device: ") + error.what());
  }
}

int bindCurrentDevice() {
  const auto context = boundContext();
  if (context) return deviceOf(context);
  setCurrentDevice(0);
  return 0;
}

bool deviceHasContext(int device) { return primaryContexts[device].load(std::memory_order_acquire) != 0; }

devices::Stream currentStream(int device) { return {static_cast<std::uint64_t>(currentStreams[device])}; }

c10::StreamId exchangeStreamId(int device, c10::StreamId id) { return std::exchange(currentStreams[device], id); }

void logRefusal(devices::Status status, const char* call, int device) noexcept {
  if (status == devices::Status::kSuccess || status == devices::Status::kIllegalAddress) return;
  try {
    std::ostringstream text;
    text << "sim: " << call << " on device " << device << " was refused: " << devices::statusName(status);
    log(LogLevel::kWarning, text.str());
  } catch (...) {  // out of memory while reporting from a destructor
  }
}

}  // namespace redraft::model::sim
