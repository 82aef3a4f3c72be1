// A checkpointed part that is recomputed while another device is current: tensors of two devices meet in one operation,
// in the phase that the forward did not fail in.
#include <set>

#include "devices/origin.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

/// The devices that a message names, as "sim:6" or "cuda:6".
std::set<int> devicesNamed(const std::string& text) {
  std::set<int> devices;
  for (const char* prefix : {"sim:", "cuda:"}) {
    const std::size_t length = std::string_view(prefix).size();
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
      int device = -1;
      for (std::size_t i = at + length; i < text.size() && i < at + length + 3 && text[i] >= '0' && text[i] <= '9'; ++i)
        device = (device < 0 ? 0 : device * 10) + (text[i] - '0');
      if (device >= 0) devices.insert(device);
    }
  }
  return devices;
}

}  // namespace

Findings detectRecomputeOnOtherDevice(const Evidence& evidence, const Findings& before) {
  if (!before.empty()) return {};
  const char* recompute = devices::phaseName(devices::Phase::kRecompute);
  const Seen<ExceptionSeen> exception = firstException(evidence);
  if (!exception || exception.head->phase != recompute) return {};
  const int own = evidence.deviceOf(exception.head->role);
  const std::set<int> named = devicesNamed(exception.body->what);
  const bool elsewhere = exception.body->device.has_value() && *exception.body->device != own;
  if (named.size() < 2 && !elsewhere) return {};

  reports::Finding finding = findingAt("recompute/other-device", *exception.head, exception.body->device);
  const int other = elsewhere                                        ? *exception.body->device
                    : named.count(own) != 0 && *named.begin() == own ? *named.rbegin()
                                                                     : *named.begin();
  finding.title = "recomputed in backward with device " + std::to_string(other) +
                  " current, where the forward ran on device " + std::to_string(own);
  finding.details = messageLines(exception.body->what);
  finding.details.push_back("restore the forward's device before the recomputation");
  const Seen<DriverCall> stray = findFirst<DriverCall>(evidence, [&](const EventHead& head, const DriverCall& call) {
    return head.phase == recompute && head.role == exception.head->role && call.device != own;
  });
  if (stray) finding.evidence.push_back(stray.head->seq);
  finding.ruledOut.push_back({"kernel-cache/shared-handle", "no launch was refused with 400"});
  finding.ruledOut.push_back(
      {"mask/other-device", "no launch touched a mask of another device; the forward of the same step passed"});
  finding.signature = signature(finding, "exception", exception.body->status.value_or(0));
  return {finding};
}

}  // namespace redraft::harness
