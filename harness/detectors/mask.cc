// A launch that touched the block mask of another device. Without peer access the next synchronisation returns 700 and
// the process is poisoned; with it nothing is refused, and only the log of what was touched shows it.
#include "devices/status.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

constexpr int kIllegalAddress = static_cast<int>(devices::Status::kIllegalAddress);

bool isMask(const ForeignRange& range) { return range.name.find("mask") != std::string::npos; }

const ForeignRange* foreignMask(const DriverCall& call) {
  for (const ForeignRange& range : call.foreign)
    if (isMask(range)) return &range;
  return nullptr;
}

}  // namespace

Findings detectMaskOnOtherDevice(const Evidence& evidence, const Findings&) {
  const auto touches = findAll<DriverCall>(
      evidence, [](const EventHead&, const DriverCall& call) { return foreignMask(call) != nullptr; });
  if (touches.empty()) return {};
  const Seen<DriverCall>& first = touches.front();
  const ForeignRange& range = *foreignMask(*first.body);
  const Seen<DriverCall> poisoned = findFirst<DriverCall>(
      evidence, [](const EventHead&, const DriverCall& call) { return call.status == kIllegalAddress; });

  reports::Finding finding = findingAt("mask/other-device", *first.head, first.body->device);
  finding.title =
      "kernel " + first.body->name + " on device " + std::to_string(first.body->device) + " read " + range.name +
      " of device " + std::to_string(range.device) +
      (poisoned ? ": " + statusText(poisoned.body->status, poisoned.body->statusName) + ", and the process is poisoned"
                : ", silently: peer access is on");
  finding.details.push_back("launches that did so: " + std::to_string(touches.size()) +
                            "; build the mask on the device of q");
  if (poisoned) finding.evidence.push_back(poisoned.head->seq);
  for (std::size_t i = 1; i < touches.size(); ++i) finding.evidence.push_back(touches[i].head->seq);
  finding.ruledOut.push_back(
      {"kernel-cache/shared-handle", "the kernel belongs to the device that it was launched on, and was not refused"});
  if (evidence.comparison && evidence.comparison->outcome == golden::Outcome::kEqual)
    finding.ruledOut.push_back({"numerics/golden-mismatch", "every number equals the golden's, bit for bit"});
  finding.signature = signature(finding, poisoned ? "poisoned" : "silent", poisoned ? kIllegalAddress : 0);
  return {finding};
}

}  // namespace redraft::harness
