#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {

Findings detectOtherException(const Evidence& evidence, const Findings& before) {
  const Seen<ExceptionSeen> exception = firstException(evidence);
  if (!exception || !before.empty()) return {};
  reports::Finding finding = findingAt("exception/unattributed", *exception.head, exception.body->device);
  finding.title = exception.body->exception + ": " + exception.body->what.substr(0, exception.body->what.find('\n'));
  finding.details = exception.body->stack;
  finding.signature = signature(finding, "exception", exception.body->status.value_or(0));
  return {finding};
}

}  // namespace redraft::harness
