#pragma once
// Whose call this is: helpers for faults.

#include <cstdint>
#include <string>

#include "base/unsupported.h"
#include "devices/origin.h"
#include "devices/placement.h"
#include "model/instrument.h"

namespace redraft::scenarios {

inline bool calledBy(const std::string& role) { return devices::roleName(devices::currentOrigin().role) == role; }
inline std::int64_t callingStep() { return devices::currentOrigin().step; }
inline bool isDrafter(const std::string& role) { return role.rfind("drafter[", 0) == 0; }
inline bool calledByADrafter() { return isDrafter(devices::roleName(devices::currentOrigin().role)); }

/// Where a fault puts in work of a role's, once a micro-batch of a target and once a step of a drafter.
inline model::SyncPoint workPoint(const std::string& role) {
  return isDrafter(role) ? model::SyncPoint::kOptimizerStep : model::SyncPoint::kQueuePush;
}

/// For a fault that mixes up the devices of two roles.
inline void requireApart(const devices::Placement& placement, const std::string& role, const std::string& other) {
  if (!placement.together(role, other)) return;
  throw Unsupported("needs 2 GPUs: " + role + " and " + other + " share GPU " +
                    std::to_string(placement.physical().deviceOf(role)));
}

/// For a fault of what the roles of one process share.
inline void requireOneProcess(const devices::Processes& processes, const std::string& role, const std::string& other) {
  if (processes.together(role, other)) return;
  throw Unsupported("needs " + role + " and " + other + " in one process");
}

}  // namespace redraft::scenarios
