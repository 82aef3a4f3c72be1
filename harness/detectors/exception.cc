#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kMaxFrames = 12;  // all of them are in the event

}  // namespace

Findings detectOtherException(const Evidence& evidence, const Findings& before) {
  const Seen<ExceptionSeen> exception = firstException(evidence);
  if (!exception || !before.empty()) return {};
  reports::Finding finding = findingAt("exception/unattributed", *exception.head, exception.body->device);
  std::vector<std::string> lines = messageLines(exception.body->what);
  finding.title = exception.body->exception + (lines.empty() ? "" : ": " + lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) finding.details.push_back(lines[i]);
  for (std::size_t i = 0; i < exception.body->stack.size() && i < kMaxFrames; ++i)
    finding.details.push_back(exception.body->stack[i]);
  finding.signature = signature(finding, "exception", exception.body->status.value_or(0));
  return {finding};
}

}  // namespace redraft::harness
