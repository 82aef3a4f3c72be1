// A process that another one waited for in vain, and whose own record says nothing: it is named by those that lost it.
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {

Findings detectLostRank(const Evidence& evidence, const Findings& before) {
  const Seen<ExceptionSeen> exception = firstException(evidence);
  if (!exception || !exception.body->rank || !before.empty()) return {};
  reports::Finding finding = findingAt("ranks/lost", *exception.head, exception.body->device);
  const int rank = *exception.body->rank;
  finding.title =
      rank < 0 ? "the store that the processes meet at was lost" : "rank " + std::to_string(rank) + " was lost";
  finding.details = messageLines(exception.body->what);
  finding.signature = signature(finding, "exception", 0);
  return {finding};
}

}  // namespace redraft::harness
