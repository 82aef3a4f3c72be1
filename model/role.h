#pragma once
// Which role, step and phase the calling code belongs to. Kept in c10::ThreadLocalDebugInfo, so that it follows the
// work: autograd's device threads and at::launch see the values of the thread that called backward() or launched, where
// a thread-local of ours would be unset. devices::currentOrigin() reads it; driver logs and errors therefore name the
// role.
//
// Scopes nest, cost about a tenth of a microsecond, and must end on the thread and in the order in which they began.
// What a scope does not name keeps the value of the scope around it.

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <string>

#include "devices/origin.h"

namespace redraft::model {

/// Replaces the calling code's origin until destroyed.
class OriginScope {
 public:
  explicit OriginScope(const devices::Origin& origin);
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  c10::DebugInfoGuard guard_;
};

/// `role` as in a topology: "target[0]", "drafter[1]". Registered in devices' role table on first use.
class RoleScope : public OriginScope {
 public:
  explicit RoleScope(const std::string& role);
};

class StepScope : public OriginScope {
 public:
  explicit StepScope(std::int64_t step);
};

class PhaseScope : public OriginScope {
 public:
  explicit PhaseScope(devices::Phase phase);
};

}  // namespace redraft::model
