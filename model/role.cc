#include "model/role.h"

#include <memory>

namespace redraft::model {
namespace {

// No part of the LibTorch wheel pushes PRODUCER_INFO (PROFILER_STATE and PARAM_COMMS_INFO are taken).
constexpr auto kOriginKind = c10::DebugInfoKind::PRODUCER_INFO;

struct OriginInfo final : c10::DebugInfoBase {
  explicit OriginInfo(const devices::Origin& value) : origin(value) {}
  devices::Origin origin;
};

devices::Origin originOfThisThread() {
  const auto* info = static_cast<const OriginInfo*>(c10::ThreadLocalDebugInfo::get(kOriginKind));
  return info ? info->origin : devices::Origin{};
}

std::shared_ptr<c10::DebugInfoBase> makeInfo(const devices::Origin& origin) {
  [[maybe_unused]] static const bool installed = (devices::setOriginProvider(&originOfThisThread), true);
  return std::make_shared<OriginInfo>(origin);
}

devices::Origin withRole(const std::string& role) {
  devices::Origin origin = originOfThisThread();
  origin.role = devices::roleId(role);
  return origin;
}

devices::Origin withStep(std::int64_t step) {
  devices::Origin origin = originOfThisThread();
  origin.step = step;
  return origin;
}

devices::Origin withPhase(devices::Phase phase) {
  devices::Origin origin = originOfThisThread();
  origin.phase = phase;
  return origin;
}

}  // namespace

OriginScope::OriginScope(const devices::Origin& origin) : guard_(kOriginKind, makeInfo(origin)) {}
RoleScope::RoleScope(const std::string& role) : OriginScope(withRole(role)) {}
StepScope::StepScope(std::int64_t step) : OriginScope(withStep(step)) {}
PhaseScope::PhaseScope(devices::Phase phase) : OriginScope(withPhase(phase)) {}

}  // namespace redraft::model
