#include "harness/probe/cupti_capture.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "harness/probe/active_capture.h"
#include "harness/probe/capture_clock.h"
#include "harness/probe/cupti_calls.h"
#include "harness/probe/trace_join.h"

namespace redraft::harness {
namespace {

struct PartKind {
  CapturePart part;
  CUpti_ActivityKind kind;
};
constexpr std::array kKinds = {PartKind{CapturePart::kKernels, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
                               PartKind{CapturePart::kCopies, CUPTI_ACTIVITY_KIND_MEMCPY},
                               PartKind{CapturePart::kCopies, CUPTI_ACTIVITY_KIND_MEMCPY2},  // records nothing alone
                               PartKind{CapturePart::kCopies, CUPTI_ACTIVITY_KIND_MEMSET},
                               PartKind{CapturePart::kWaits, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
                               PartKind{CapturePart::kEvents, CUPTI_ACTIVITY_KIND_CUDA_EVENT},
                               PartKind{CapturePart::kAllocations, CUPTI_ACTIVITY_KIND_MEMORY2},
                               PartKind{CapturePart::kOverheads, CUPTI_ACTIVITY_KIND_OVERHEAD}};
/// Calls, of which most are muted. Calls enabled one by one are recorded only where CUDA's runtime starts after CUPTI
/// (measured: 13.0).
constexpr std::array kCallKinds = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};
/// Of these, what is there already is recorded too.
constexpr std::array kResourceKinds = {CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM};
constexpr std::array kResourceCallbacks = {CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                           CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                                           CUPTI_CBID_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_MODULE_LOADED};
constexpr std::array kRecordKindsCaptured = {
    RecordKind::kKernel,   RecordKind::kCopy,       RecordKind::kPeerCopy, RecordKind::kSet,    RecordKind::kApi,
    RecordKind::kSync,     RecordKind::kEvent,      RecordKind::kContext,  RecordKind::kStream, RecordKind::kModule,
    RecordKind::kFunction, RecordKind::kAllocation, RecordKind::kOverhead, RecordKind::kHandOff};

constexpr std::uint64_t callKey(bool driver, std::uint32_t id) { return std::uint64_t{driver} << 32 | id; }

std::string remedyFor(CUptiResult result, const char* otherTool) {
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return std::string("run without the other tool that uses CUPTI") +
             (otherTool[0] != '\0' ? std::string(" (") + otherTool + ")" : "") + ", or with --no-capture";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "let users profile (NVreg_RestrictProfilingToAdminUsers=0), or run with --no-capture";
    default:
      return "run on a machine with an NVIDIA GPU and a driver for CUDA 13, or with --no-capture";
  }
}

std::uint64_t timestamp() { return static_cast<std::uint64_t>(captureClockNs()); }

}  // namespace

CuptiCapture::CuptiCapture(const CuptiApi& api, const CaptureHost& host, const CaptureOptions& options)
    : api_(api),
      host_(host),
      options_(options),
      pool_(options.bufferBytes, options.buffers),
      origins_(options.originSlots),
      resources_(options.resources),
      declarations_(api_, host.currentOrigin) {
  trace_.files.emplace_back().path = "cupti";
  contexts_.reserve(64);
}

CuptiCapture* CuptiCapture::start(const CuptiApi& api, const CaptureHost& host, const CaptureOptions& options,
                                  CaptureRefusal& refusal) {
  CuptiCapture* const before = activeCapture().load();
  if (before != nullptr && !before->stopped_) {
    refusal = {"capture", "one is running already", "stop it first"};
    return nullptr;
  }
  // Never destroyed, not at exit either: see the head of cupti_capture.h.
  static auto& kept = *std::make_unique<std::vector<std::unique_ptr<CuptiCapture>>>().release();
  CuptiCapture& capture = *kept.emplace_back(new CuptiCapture(api, host, options));
  if (!capture.subscribe(refusal)) return nullptr;
  activeCapture().store(&capture);
  if (!capture.configure() || !capture.listCalls() || !capture.enable(true)) {
    refusal = {"CUPTI", capture.refused_, remedyFor(CUPTI_ERROR_UNKNOWN, "")};
    capture.stopped_ = true;
    static_cast<void>(capture.enable(false));  // what was enabled; why it stops is said already
    api.cuptiUnsubscribe(capture.subscriber_);
    return nullptr;
  }
  capture.worker_ = std::thread([&capture] { capture.work(); });
  return &capture;
}

bool CuptiCapture::succeeded(CUptiResult result, const std::string& call) {
  if (result == CUPTI_SUCCESS) return true;
  if (refused_.empty()) refused_ = call + ": " + api_.resultText(result);
  return false;
}

bool CuptiCapture::subscribe(CaptureRefusal& refusal) {
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> other{};
  CUpti_SubscriberParams params{};
  params.structSize = sizeof params;
  params.subscriberName = "redraft";
  params.oldSubscriberName = other.data();
  params.oldSubscriberSize = other.size();
  const CUptiResult result = api_.cuptiSubscribe_v2(&subscriber_, &CuptiCapture::onCallback, this, &params);
  if (succeeded(result, "cuptiSubscribe")) return true;
  refusal = {"CUPTI", refused_, remedyFor(result, other.data())};
  return false;
}

bool CuptiCapture::configure() {
  return succeeded(api_.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType") &&
         succeeded(api_.cuptiActivityRegisterTimestampCallback(&timestamp), "cuptiActivityRegisterTimestampCallback") &&
         setAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, true) &&
         (!options_.pinnedDeviceBuffers || setAttribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, true)) &&
         succeeded(api_.cuptiActivityRegisterCallbacks(&requestBuffer, &completeBuffer),
                   "cuptiActivityRegisterCallbacks") &&
         succeeded(api_.cuptiActivityEnableAllSyncRecords(0), "cuptiActivityEnableAllSyncRecords");
}

bool CuptiCapture::setAttribute(CUpti_ActivityAttribute attribute, bool on) {
  std::uint8_t value = on ? 1 : 0;
  std::size_t size = sizeof value;
  return succeeded(api_.cuptiActivitySetAttribute(attribute, &size, &value), "cuptiActivitySetAttribute");
}

/// CUPTI says the name of every callback id; ids that are no call have none.
bool CuptiCapture::listCalls() {
  isCode_.assign(CUPTI_DRIVER_TRACE_CBID_SIZE, false);
  const auto list = [this](CUpti_CallbackDomain domain, std::uint32_t ids) {
    for (std::uint32_t id = 1; id < ids; ++id) {
      const char* name = nullptr;
      if (api_.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) continue;
      const std::string plain = plainCallName(name);
      if (!isCapturedCall(plain)) {
        otherCalls_.push_back({domain, id});
        continue;
      }
      const bool driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
      calls_.push_back({domain, id});
      callNames_[callKey(driver, id)] = plain;
      if (driver) isCode_[id] = isCodeCall(plain);
    }
  };
  list(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
  list(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
  if (calls_.empty()) refused_ = "cuptiGetCallbackName: no call of the runtime or driver API has a name";
  return !calls_.empty();
}

bool CuptiCapture::enable(bool on) {
  bool all = enableKinds(on);
  all &= enableCalls(on);
  for (const auto id : kResourceCallbacks)
    all &= succeeded(
        api_.cuptiEnableCallback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(id)),
        "callback of a resource");
  return all;
}

bool CuptiCapture::enableKinds(bool on) {
  bool all = true;
  const auto refused = [](CUpti_ActivityKind kind) { return "activity kind " + std::to_string(kind); };
  for (const auto& [part, kind] : kKinds)
    if (takes(part))
      all &= succeeded(on ? api_.cuptiActivityEnable(kind) : api_.cuptiActivityDisable(kind), refused(kind));
  for (const auto kind : kResourceKinds)
    all &= succeeded(on ? api_.cuptiActivityEnableAndDump(kind) : api_.cuptiActivityDisable(kind), refused(kind));
  return all;
}

bool CuptiCapture::enableCalls(bool on) {
  bool all = true;
  if (takes(CapturePart::kCalls)) {
    for (const auto kind : kCallKinds)
      all &= succeeded(on ? api_.cuptiActivityEnable(kind) : api_.cuptiActivityDisable(kind),
                       "activity kind " + std::to_string(kind));
    if (on) muteOtherCalls();
  }
  for (CapturedCall& call : calls_) all &= enableCall(call, on);
  return all;
}

/// What is refused here is not recorded anyway.
void CuptiCapture::muteOtherCalls() {
  for (const CapturedCall& call : otherCalls_) {
    static_cast<void>(call.domain == CUPTI_CB_DOMAIN_DRIVER_API ? api_.cuptiActivityEnableDriverApi(call.id, 0)
                                                                : api_.cuptiActivityEnableRuntimeApi(call.id, 0));
  }
}

/// CUPTI names ids of calls that its CUDA no longer has, and refuses those.
bool CuptiCapture::enableCall(CapturedCall& call, bool on) {
  if (!call.traced) return true;
  const bool driver = call.domain == CUPTI_CB_DOMAIN_DRIVER_API;
  const std::uint8_t flag = on ? 1 : 0;
  CUptiResult result = CUPTI_SUCCESS;
  if (takes(CapturePart::kCalls))
    result =
        driver ? api_.cuptiActivityEnableDriverApi(call.id, flag) : api_.cuptiActivityEnableRuntimeApi(call.id, flag);
  if (result == CUPTI_SUCCESS && takes(CapturePart::kCallbacks))
    result = api_.cuptiEnableCallback(flag, subscriber_, call.domain, call.id);
  call.traced = result != CUPTI_ERROR_INVALID_PARAMETER;
  return !call.traced || succeeded(result, callNames_.at(callKey(driver, call.id)));
}

bool CuptiCapture::pause(std::string& error) {
  if (stopped_ || paused_) return true;
  paused_ = true;
  const bool done = enable(false);
  if (!done) error = refused_;
  return done;
}

bool CuptiCapture::resume(std::string& error) {
  if (stopped_ || !paused_) return true;
  paused_ = false;
  const bool done = enable(true);
  if (!done) error = refused_;
  return done;
}

void CuptiCapture::flush(std::int64_t /*step*/) {
  if (stopped_) return;
  {
    const std::lock_guard lock(workMutex_);
    const std::int64_t now = captureClockNs();
    const std::int64_t interval = pool_.mostlyFree() ? options_.spareFlushIntervalNs : options_.flushIntervalNs;
    if (flushAskedNs_ && now - *flushAskedNs_ < interval) return;
    flushAskedNs_ = now;
    flushWanted_ = true;
  }
  work_.notify_one();
}

void CuptiCapture::waitForDevices() {
  std::vector<CUcontext> contexts;
  {
    const std::lock_guard lock(contextMutex_);
    contexts = contexts_;
  }
  for (CUcontext context : contexts) {
    if (api_.cuCtxPushCurrent(context) != CUDA_SUCCESS) continue;  // destroyed meanwhile
    const CUresult waited = api_.cuCtxSynchronize();
    if (waited != CUDA_SUCCESS && refused_.empty())
      refused_ = "cuCtxSynchronize: error " + std::to_string(static_cast<int>(waited));
    CUcontext popped = nullptr;
    static_cast<void>(api_.cuCtxPopCurrent(&popped));  // its context is the one that was pushed
  }
}

void CuptiCapture::endWorker() {
  {
    const std::lock_guard lock(workMutex_);
    endWanted_ = true;
  }
  work_.notify_one();
  if (worker_.joinable()) worker_.join();
}

Trace CuptiCapture::stop(StopMode mode) {
  if (std::exchange(taken_, true)) return {};
  refused_.clear();
  if (mode == StopMode::kWaitForDevices) waitForDevices();
  endWorker();
  flushNow(true);
  if (!paused_) static_cast<void>(enable(false));  // noted in refused_, and counted below
  flushNow(true);                                  // what came between
  parseFull();
  stopped_ = true;
  succeeded(api_.cuptiUnsubscribe(subscriber_), "cuptiUnsubscribe");
  countDropped();
  return takeTrace();
}

Trace CuptiCapture::takeTrace() {
  const CaptureCost cost = this->cost();
  dropped_ += pool_.failed() + resources_.lost() + declarations_.lost() + refusedCallbacks_ + lateBuffers_ +
              cost.lostOrigins + (refused_.empty() ? 0 : 1);
  CaptureInfo& info = trace_.files.front().capture;
  info.source = "cupti";
  info.process = ::getpid();
  info.dropped = dropped_;
  for (const RecordKind kind : kRecordKindsCaptured) info.kinds.emplace_back(recordKindName(kind));
  const std::int64_t now = captureClockNs();
  addOverhead("Redraft Callbacks", now, now + cost.callbackNs, 0);  // all together
  trace_.records.back().detail = trace_.strings.intern(costText(cost));
  CapturedRecords captured{std::move(trace_), resources_.take(), declarations_.take(), 0};
  joinRecords(captured, host_.roleName, stackText);
  for (const TraceRecord& record : captured.trace.records)
    if (record.device >= 0) captured.trace.files.front().deviceNames.try_emplace(record.device, "GPU");
  const std::lock_guard lock(costMutex_);
  cost_.nestedCalls = captured.nestedCalls;
  return std::move(captured.trace);
}

CaptureCost CuptiCapture::cost() const {
  const std::lock_guard lock(costMutex_);
  CaptureCost cost = cost_;
  cost.callbacks = sampledCallbacks_ * 64;
  cost.callbackNs = sampledNs_ * 64;
  cost.extraBuffers = pool_.extra();
  for (const CapturedCall& call : calls_) cost.untracedCalls += call.traced ? 0 : 1;
  return cost;
}

}  // namespace redraft::harness
