#pragma once
// Whose call this is: helpers for faults.

#include <cstdint>
#include <string>

#include "devices/origin.h"

namespace redraft::scenarios {

inline bool calledBy(const std::string& role) { return devices::roleName(devices::currentOrigin().role) == role; }
inline std::int64_t callingStep() { return devices::currentOrigin().step; }
inline bool calledByADrafter() { return devices::roleName(devices::currentOrigin().role).rfind("drafter[", 0) == 0; }

}  // namespace redraft::scenarios
