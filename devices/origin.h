#pragma once
// Who is calling: the role, step and phase that a driver call is logged under. Roles travel in
// c10::ThreadLocalDebugInfo, because autograd runs backward on threads of its own; this layer has no LibTorch, so the
// model installs a provider.

#include <cstdint>
#include <string>

namespace redraft::devices {

/// Index into the process's role table; 0 is "none" (a thread that no role owns).
using RoleId = std::uint16_t;

enum class Phase : std::uint8_t {
  kNone,
  kData,
  kTargetForward,
  kHandOff,
  kMaskBuild,
  kDrafterForward,
  kLoss,
  kBackward,
  kRecompute,
  kAllReduce,
  kOptimizer,
  kEvaluate,
  kCheckpoint,
};

struct Origin {
  RoleId role = 0;
  Phase phase = Phase::kNone;
  std::int64_t step = -1;
};

const char* phaseName(Phase phase);

/// Returns the id of a role name such as "drafter[1]", registering it on first use. Thread-safe.
RoleId roleId(const std::string& name);
std::string roleName(RoleId id);  // "none" for 0

/// The provider must be callable from any thread and must not call the driver. Null restores the default (no origin).
using OriginProvider = Origin (*)();
void setOriginProvider(OriginProvider provider);
Origin currentOrigin();

}  // namespace redraft::devices
