#include "devices/driver.h"

#include <utility>

#include "base/log.h"
#include "devices/context_guard.h"

namespace redraft::devices {
namespace {

struct Refusal {
  Status status = Status::kSuccess;
  std::string detail;
};

thread_local bool refusalGone = false;  // memory in static storage is freed after the thread's own objects have gone

struct ThreadRefusal {
  Refusal last;
  ~ThreadRefusal() { refusalGone = true; }
};
thread_local ThreadRefusal refusal;

std::string joined(const std::string& what, const std::string& why) {
  if (what.empty() || why.empty()) return what + why;
  return what + ": " + why;
}

}  // namespace

void noteRefusal(Status status, std::string detail) {
  if (!refusalGone) refusal.last = {status, std::move(detail)};
}

void check(Status status, const char* call, int device, const std::string& detail) {
  if (status == Status::kSuccess) return;
  Refusal last;
  if (!refusalGone) last = std::exchange(refusal.last, Refusal{});
  throw DeviceError(status, call, device, currentOrigin(), joined(detail, last.status == status ? last.detail : ""));
}

ContextGuard::ContextGuard(Driver& driver, int device) : driver_(driver) {
  check(driver_.primaryContext(device, &context_), "primaryContext", device);
  bind();
}

ContextGuard::ContextGuard(Driver& driver, Context context) : driver_(driver), context_(context) { bind(); }

void ContextGuard::bind() {
  check(driver_.current(&former_), "current", -1);
  if (former_ != context_) check(driver_.setCurrent(context_), "setCurrent", -1);
}

ContextGuard::~ContextGuard() {
  if (former_ == context_) return;
  const Status status = driver_.setCurrent(former_);
  if (status == Status::kSuccess || status == Status::kIllegalAddress) return;  // a poisoned process binds all the same
  log(LogLevel::kWarning, std::string("restoring the current context: ") + statusName(status));
}

}  // namespace redraft::devices
