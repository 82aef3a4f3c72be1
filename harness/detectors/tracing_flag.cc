// FX's text in a thread that compiles nothing, while another one does: the tracing flag is one for the process. The
// look-alike is a program that really traces a compiled function: then the failing thread itself is inside a compile.
#include <set>

#include "devices/status.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

struct Compile {
  const EventHead* begin = nullptr;
  std::string artefact;
};

/// Compiles that had begun and not ended when event `seq` came, by thread.
std::map<std::int64_t, Compile> openCompiles(const Evidence& evidence, std::int64_t seq) {
  std::map<std::int64_t, Compile> open;
  for (const Event& event : evidence.events()) {
    if (event.head.seq >= seq) break;
    const CacheMark* mark = event.as<CacheMark>();
    if (mark == nullptr) continue;
    if (mark->event == "compile_begin") open[event.head.thread] = {&event.head, mark->artefact};
    if (mark->event == "compile_end") open.erase(event.head.thread);
  }
  return open;
}

std::set<std::int64_t> contextsThatLoaded(const Evidence& evidence) {
  std::set<std::int64_t> contexts;
  for (const Event& event : evidence.events())
    if (const CacheMark* mark = event.as<CacheMark>(); mark != nullptr && mark->event == "load")
      contexts.insert(mark->context);
  return contexts;
}

void ruleOut(const Evidence& evidence, const Seen<ExceptionSeen>& exception, reports::Finding& finding) {
  // Other statuses say nothing of handles: peer access that is on already (704), an event that is not ready (600).
  constexpr int kInvalidHandle = static_cast<int>(devices::Status::kInvalidHandle);
  const bool refused = static_cast<bool>(findFirst<DriverCall>(
      evidence, [](const EventHead&, const DriverCall& call) { return call.status == kInvalidHandle; }));
  if (!refused) {
    const std::size_t contexts = contextsThatLoaded(evidence).size();
    finding.ruledOut.push_back({"kernel-cache/shared-handle",
                                "no driver call returned 400; kernels were loaded into " + std::to_string(contexts) +
                                    " contexts, and the flag is tested before any look-up"});
  }
  if (exception.head->phase != "recompute" && exception.head->phase != "backward")
    finding.ruledOut.push_back(
        {"recompute/other-device", "raised in " + exception.head->phase + ", where nothing is recomputed"});
}

}  // namespace

Findings detectTracingFlag(const Evidence& evidence, const Findings&) {
  const Seen<ExceptionSeen> exception = findFirst<ExceptionSeen>(
      evidence, [](const EventHead&, const ExceptionSeen& seen) { return isTracingFlagText(seen.what); });
  if (!exception) return {};
  const std::map<std::int64_t, Compile> open = openCompiles(evidence, exception.head->seq);
  if (open.empty() || open.contains(exception.head->thread)) return {};  // it traces itself, or nobody does
  const Compile& other = open.begin()->second;

  reports::Finding finding = findingAt("compiler/process-wide-tracing-flag", *exception.head, exception.body->device);
  finding.title = "the thread compiles nothing, and fails because " +
                  (other.begin->role.empty() ? "another thread" : other.begin->role) + " is compiling " +
                  other.artefact + ": the tracing flag is one for the process";
  finding.details = messageLines(exception.body->what);
  finding.details.push_back(
      "a flag per thread, or warming every shape before the second thread starts, removes it; a cache "
      "keyed by device does not");
  finding.evidence.push_back(other.begin->seq);
  ruleOut(evidence, exception, finding);
  finding.signature = signature(finding, "exception", exception.body->status.value_or(0));
  return {finding};
}

}  // namespace redraft::harness
