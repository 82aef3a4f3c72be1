#include "reports/fingerprint.h"

#include "base/hash.h"
#include "base/text.h"

namespace redraft::reports {
namespace {

/// Changing what goes in makes every known finding a new one: then change this too.
constexpr const char* kScheme = "redraft.fingerprint/1";

std::string hashOf(const std::string& scenario, const std::string& id, const std::string& role,
                   const std::string& phase) {
  return hashText(join({kScheme, scenario, id, role, phase}, "\n"));
}

}  // namespace

std::string fingerprintOf(const std::string& scenario, const Finding& finding) {
  return hashOf(scenario, finding.id, finding.role.substr(0, finding.role.find('[')), finding.phase);
}

std::string fingerprintOf(const std::string& scenario, const std::string& id) { return hashOf(scenario, id, "", ""); }

}  // namespace redraft::reports
