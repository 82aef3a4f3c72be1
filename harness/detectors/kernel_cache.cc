// A function that was loaded in one context and launched in another, of another device or of the same. Two causes look
// alike: one handle serves several contexts although the call sites say where they are, or the call sites do not say it
// (the half-fix).
#include <set>

#include "devices/driver_log.h"
#include "devices/status.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

constexpr int kInvalidHandle = static_cast<int>(devices::Status::kInvalidHandle);

bool isForeignLaunch(const DriverCall& call) {
  return call.call == devices::callKindName(devices::CallKind::kLaunch) && call.status == kInvalidHandle &&
         call.objectContext != 0 && call.objectContext != call.context;
}

std::string placeText(bool sameDevice, int device, std::int64_t context) {
  return (sameDevice ? "in context " + std::to_string(context) + " of device " : "on device ") + std::to_string(device);
}

/// The cache's answer that this launch uses: the last mark on the same thread.
Seen<CacheMark> lookupBefore(const Evidence& evidence, const EventHead& launch) {
  return findLastBefore<CacheMark>(
      evidence, launch.seq, [&](const EventHead& head, const CacheMark&) { return head.thread == launch.thread; });
}

Seen<DriverCall> loadOf(const Evidence& evidence, const DriverCall& launch) {
  return findFirst<DriverCall>(evidence, [&](const EventHead&, const DriverCall& call) {
    return call.call == devices::callKindName(devices::CallKind::kModuleLoad) && call.status == 0 &&
           call.context == launch.objectContext;
  });
}

void ruleOut(const Evidence& evidence, const Seen<CacheMark>& lookup, bool passed, reports::Finding& finding) {
  if (!passed) {
    finding.ruledOut.push_back({"kernel-cache/shared-handle", "the cache was asked for a key without a device: event " +
                                                                  std::to_string(lookup.head->seq) + " passes none"});
  } else {
    finding.ruledOut.push_back({"kernel-cache/device-not-passed",
                                lookup
                                    ? "the call site passed device " + std::to_string(*lookup.body->passedDevice) +
                                          " (event " + std::to_string(lookup.head->seq) + ")"
                                    : "the launch was not preceded by a look-up: no call site was asked for a device"});
  }
  const Seen<ExceptionSeen> exception = firstException(evidence);
  if (exception && !isTracingFlagText(exception.body->what))
    finding.ruledOut.push_back({"compiler/process-wide-tracing-flag",
                                "the driver refused a launch; FX's text would come before any look-up or launch"});
}

}  // namespace

Findings detectKernelCache(const Evidence& evidence, const Findings&) {
  const Seen<DriverCall> launch =
      findFirst<DriverCall>(evidence, [](const EventHead&, const DriverCall& call) { return isForeignLaunch(call); });
  if (!launch) return {};
  const Seen<CacheMark> lookup = lookupBefore(evidence, *launch.head);
  const bool passed = !lookup || lookup.body->passedDevice.has_value();

  reports::Finding finding = findingAt(passed ? "kernel-cache/shared-handle" : "kernel-cache/device-not-passed",
                                       *launch.head, launch.body->device);
  const bool sameDevice = launch.body->objectDevice == launch.body->device;
  finding.title = "kernel " + launch.body->name + " was loaded " +
                  placeText(sameDevice, launch.body->objectDevice, launch.body->objectContext) + " and launched " +
                  placeText(sameDevice, launch.body->device, launch.body->context) + ": " +
                  statusText(launch.body->status, launch.body->statusName);
  const std::string what = sameDevice ? "context" : "device";
  finding.details.push_back(
      passed ? "one handle serves several " + what + "s: key the cache by " + what + ", and keep one handle for each"
             : "the cache takes a device, and the call site does not pass it: pass the tensor's device");
  if (!launch.body->detail.empty()) finding.details.push_back(launch.body->detail);
  if (lookup) finding.evidence.push_back(lookup.head->seq);
  if (const Seen<DriverCall> load = loadOf(evidence, *launch.body)) finding.evidence.push_back(load.head->seq);
  if (const Seen<ExceptionSeen> exception = firstException(evidence)) finding.evidence.push_back(exception.head->seq);
  ruleOut(evidence, lookup, passed, finding);
  finding.signature = signature(finding, "refused", launch.body->status);
  return {finding};
}

}  // namespace redraft::harness
