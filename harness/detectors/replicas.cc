// Drafters whose parameters differ after an optimiser step. The hashes are compared here; the runner's own word is not
// taken.
#include <set>

#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {

Findings detectReplicaDrift(const Evidence& evidence, const Findings&) {
  const Seen<ReplicaCheck> drift = findFirst<ReplicaCheck>(evidence, [](const EventHead&, const ReplicaCheck& check) {
    std::set<std::string> distinct;
    for (const auto& [role, hash] : check.hashes) distinct.insert(hash);
    return distinct.size() > 1 || !check.equal;
  });
  if (!drift) return {};
  reports::Finding finding = findingAt("replicas/drift", *drift.head);
  finding.title = "the drafters' parameters differ after step " + std::to_string(drift.head->step);
  for (const auto& [role, hash] : drift.body->hashes) finding.details.push_back(role + " " + hash);
  finding.signature = signature(finding, "difference", 0);
  return {finding};
}

}  // namespace redraft::harness
