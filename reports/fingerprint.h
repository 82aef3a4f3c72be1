#pragma once
// What names a finding across runs, machines and formats.

#include <string>

#include "reports/result.h"

namespace redraft::reports {

/// 32 hex digits over scenario, finding id, role without its number, and phase. Nothing else: no step, device, time,
/// path, line or message. The number of a role is left out because which of equal workers is hit may be chance.
std::string fingerprintOf(const std::string& scenario, const Finding& finding);

/// The same of something that has no role and no phase.
std::string fingerprintOf(const std::string& scenario, const std::string& id);

}  // namespace redraft::reports
