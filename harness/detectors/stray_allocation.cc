// Memory that a role took on a device that is neither its own nor one that it may copy to.
#include "base/characters.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

/// The device of a key of memory.json; -1 when it is no number.
int deviceIndex(const std::string& key) {
  if (key.size() > 4 || !isDigits(key)) return -1;
  return std::stoi(key);
}

}  // namespace

Findings detectStrayAllocation(const Evidence& evidence, const Findings& before) {
  if (!evidence.memory || !before.empty()) return {};
  Findings findings;
  for (const auto& [role, devices] : evidence.memory->roles) {
    const int own = evidence.deviceOf(role);
    if (own < 0) continue;
    for (const auto& [key, bytes] : devices) {
      const int device = deviceIndex(key);
      if (bytes <= 0 || device == own || evidence.topology.allowsCopy(own, device)) continue;
      reports::Finding finding;
      finding.id = "memory/stray-allocation";
      finding.role = role;
      finding.device = device;
      finding.title =
          role + " took " + std::to_string(bytes) + " bytes on device " + key + "; its own is " + std::to_string(own);
      finding.signature = signature(finding, "silent", 0);
      findings.push_back(finding);
    }
  }
  return findings;
}

}  // namespace redraft::harness
