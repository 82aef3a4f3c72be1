#pragma once
// The affinity audit of a run on simulated devices: every check that its event log and memory report allow, and by name
// those that need more than they hold.

#include <string>
#include <vector>

#include "harness/audit_state.h"
#include "harness/evidence.h"

namespace redraft::harness {

struct AuditCheck {
  std::string id;     // "copy-edge"
  std::string title;  // what holds when it is clean
  AuditState state = AuditState::kClean;
  std::int64_t count = 0;            // of what was found
  std::vector<std::string> details;  // the first few, or why it is not computable
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("id", id);
    visit("title", title);
    visit("state", state);
    visit("count", count);
    visit("details", details);
  }
};

std::vector<AuditCheck> auditRun(const Evidence& evidence);

}  // namespace redraft::harness
