#include "scenarios/runner/run_events.h"

#include <c10/util/Exception.h>
#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "devices/status.h"
#include "model/checkpoint.h"
#include "model/pipeline/collective.h"
#include "scenarios/runner/crash_handler.h"
#include "scenarios/runner/throw_trace.h"

namespace redraft::scenarios {

namespace {

harness::EventHead headOf(const devices::Origin& origin) {
  harness::EventHead head;
  if (origin.role != 0) head.role = devices::roleName(origin.role);
  head.step = origin.step;
  if (origin.phase != devices::Phase::kNone) head.phase = devices::phaseName(origin.phase);
  return head;
}

/// What events.jsonl lists of the driver's log: docs/formats.md.
bool isListed(const devices::LogRecord& record) {
  if (record.status == devices::Status::kSuccess && record.name == kDigestKernel) return false;  // thousands a step
  if (record.status != devices::Status::kSuccess || !record.foreign.empty()) return true;
  switch (record.kind) {
    case devices::CallKind::kModuleLoad:
    case devices::CallKind::kLibraryLoad:
    case devices::CallKind::kLaunch:
    case devices::CallKind::kPeerAccess:
    case devices::CallKind::kRace:
      return true;
    case devices::CallKind::kCopy:
      return record.fromDevice >= 0 && record.toDevice >= 0 && record.fromDevice != record.toDevice;
    default:
      return false;
  }
}

std::int64_t shown(std::uint64_t id) { return static_cast<std::int64_t>(devices::shownId(id)); }

harness::DriverCall driverEvent(const devices::LogRecord& record) {
  harness::DriverCall call;
  call.call = devices::callKindName(record.kind);
  call.status = static_cast<int>(record.status);
  call.statusName = devices::statusName(record.status);
  call.device = record.device;
  call.context = shown(record.context);
  call.stream = shown(record.stream);
  call.object = shown(record.object);
  call.objectDevice = record.objectDevice;
  call.objectContext = shown(record.objectContext);
  call.name = record.name;
  if (record.kind == devices::CallKind::kCopy || record.kind == devices::CallKind::kPeerAccess) {
    call.from = record.fromDevice;
    call.to = record.toDevice;
  }
  call.staged = record.staged;
  call.bytes = record.bytes;
  call.detail = record.detail;
  for (const devices::ForeignTouch& touch : record.foreign) {
    call.foreign.push_back({touch.name, touch.device, touch.bytes, touch.written});
  }
  return call;
}

const char* cacheEventName(devices::CacheEvent event) {
  switch (event) {
    case devices::CacheEvent::kLookup:
      return "lookup";
    case devices::CacheEvent::kCompileBegin:
      return "compile_begin";
    case devices::CacheEvent::kCompileEnd:
      return "compile_end";
    case devices::CacheEvent::kLoad:
      return "load";
    case devices::CacheEvent::kHit:
      return "hit";
    case devices::CacheEvent::kWait:
      return nullptr;  // not an event of the format
  }
  return nullptr;
}

harness::ExceptionSeen describe(const std::exception_ptr& error) {
  harness::ExceptionSeen seen;
  seen.exception = exceptionClass(error);
  if (const auto site = throwSiteOf(error)) seen.stack = symbolise(site->frames);
  try {
    std::rethrow_exception(error);
  } catch (const devices::DeviceError& refused) {
    seen.what = refused.what();
    seen.status = static_cast<int>(refused.status());
    seen.call = refused.call();
    seen.device = refused.device();
  } catch (const model::RankLost& lost) {
    seen.what = lost.what();
    seen.rank = lost.rank();
  } catch (const c10::AcceleratorError& failed) {  // CUDA's own number, as the driver calls have it
    seen.what = failed.what();
    seen.status = failed.get_error_code();
  } catch (const std::exception& other) {
    seen.what = other.what();
  } catch (...) {
    seen.what = "not a std::exception";
  }
  return seen;
}

}  // namespace

RunEvents::RunEvents(const std::string& path, Fault& fault, devices::SimDriver* driver)
    : writer_(path), fault_(fault), driver_(driver) {}

void RunEvents::write(harness::EventBody body) {
  useAlternateStack();  // role threads and autograd's all have something to write before they can go wrong
  writer_.write(headOf(devices::currentOrigin()), std::move(body));
}

void RunEvents::setRank(Rank rank) { rank_ = std::move(rank); }

void RunEvents::begin(const Scenario& scenario, const std::string& token, const devices::Placement& placement,
                      bool traced) {
  harness::RunBegin begin;
  begin.traced = traced;
  begin.scenario = scenario.name;
  begin.pid = ::getpid();
  begin.backend = scenario.backend;
  begin.token = token;
  begin.rank = rank_.rank;
  begin.processes = rank_.processes;
  begin.roles = rank_.roles;
  if (placement.devices() != devices::Placement(placement.logical()).devices()) begin.placement = placement.devices();
  write(std::move(begin));
}

void RunEvents::end(bool completed, std::int64_t steps) {
  harness::RunEnd end;
  end.outcome = completed ? "completed" : "failed";
  end.steps = steps;
  write(std::move(end));
}

void RunEvents::exception(const std::exception_ptr& error) {
  const auto site = throwSiteOf(error);
  writer_.write(headOf(site ? site->origin : devices::currentOrigin()), describe(error));
}

void RunEvents::driverCall(const devices::LogRecord& record) {
  if (isListed(record)) writer_.write(headOf(record.origin), driverEvent(record));
}

void RunEvents::cacheEvent(devices::CacheEvent event, const devices::CacheRequest& request) {
  if (const char* name = cacheEventName(event)) {
    harness::CacheMark mark;
    mark.event = name;
    mark.artefact = request.artefact;
    mark.passedDevice = request.device;
    mark.context = shown(request.context.id);
    write(std::move(mark));
  }
  fault_.cacheEvent(event, request);
}

void RunEvents::syncPoint(model::SyncPoint point, std::int64_t object) {
  harness::SyncMark mark;
  mark.point = model::syncPointName(point);
  mark.object = object;
  write(std::move(mark));
  fault_.syncPoint(point, object);
  if (opRecorder_ != nullptr && point == model::SyncPoint::kStepBegin) opRecorder_->stepBegan();
}

void RunEvents::publish(devices::HostMark& mark) {
  if (driver_ != nullptr) driver_->publish(mark);
}

void RunEvents::observe(const devices::HostMark& mark) {
  if (driver_ != nullptr) driver_->observe(mark);
}

bool RunEvents::waitsForHandOff() const { return fault_.waitsForHandOff(); }

std::optional<int> RunEvents::kernelCallSiteDevice(int tensorDevice) const {
  return fault_.kernelCallSiteDevice(tensorDevice);
}

int RunEvents::blockMaskDevice(int tensorDevice) const { return fault_.blockMaskDevice(tensorDevice); }

int RunEvents::recomputeDevice(int forwardDevice) const { return fault_.recomputeDevice(forwardDevice); }

void RunEvents::roleBegan(const std::string& role, at::Device device) {
  // For whoever looks at the process: the crash handler, the supervisor's list of threads, a debugger. 15 bytes fit.
  ::pthread_setname_np(::pthread_self(), role.substr(0, 15).c_str());
  harness::RoleBegin begin;
  begin.device = device.index();
  write(begin);
}

void RunEvents::targetEnters(std::int64_t step) {
  if (turns_ != nullptr) turns_->enter(step, [this] { monitor_->checkpoint(); });
}

void RunEvents::roleEnded(const std::string&, at::Device device) {
  harness::RoleEnd end;
  end.device = device.index();
  write(end);
}

void RunEvents::roleFailed(const std::string& role, const std::exception_ptr& error) noexcept {
  try {
    exception(error);
  } catch (const std::exception& failure) {
    log(LogLevel::kError, role + " failed, and that could not be recorded: " + failure.what());
  }
}

void RunEvents::replicaReady(int drafter, const model::Drafter& replica) {
  fault_.replicaReady(drafter, replica);
  if (opRecorder_ == nullptr) return;
  std::vector<std::string> names;
  for (const model::ParameterSpec& spec : model::drafterParameters(replica.config())) names.push_back(spec.name);
  opRecorder_->replicaReady(replica.parameters(), names);
}

void RunEvents::drafterStepped(int drafter, std::int64_t step, double loss) {
  for (std::int64_t seen = steps_; seen < step + 1 && !steps_.compare_exchange_weak(seen, step + 1);) {
  }
  harness::StepDone done;
  done.loss = loss;
  done.drafter = drafter;
  write(done);
  if (drafter == rank_.firstDrafter && stepHook_) stepHook_(step);
}

void RunEvents::replicasCompared(std::int64_t, bool equal, const std::map<std::string, std::string>& hashes) {
  harness::ReplicaCheck check;
  check.equal = equal;
  check.hashes = hashes;
  write(std::move(check));
}

void RunEvents::stepDone(const model::StepMetrics& metrics) {
  if (turns_ != nullptr) turns_->done(metrics.step);
}

}  // namespace redraft::scenarios
