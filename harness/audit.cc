#include "harness/audit.h"

#include "devices/driver_log.h"
#include "devices/status.h"

namespace redraft::harness {
namespace {

constexpr std::size_t kMaxDetails = 5;

using devices::CallKind;
using devices::callKindName;

bool is(const DriverCall& call, CallKind kind) { return call.call == callKindName(kind); }

/// Copies are not: whoever issues one may do it from either side. The topology says which edges there are.
bool isWork(const DriverCall& call) { return is(call, CallKind::kLaunch) || is(call, CallKind::kModuleLoad); }

/// Answers that every program takes in its stride.
bool isBenign(int status) {
  return status == static_cast<int>(devices::Status::kPeerAccessAlreadyEnabled) ||
         status == static_cast<int>(devices::Status::kPeerAccessNotEnabled) ||
         status == static_cast<int>(devices::Status::kNotReady);
}

std::string placeText(const EventHead& head, const DriverCall& call) {
  return "event " + std::to_string(head.seq) + ": " + (head.role.empty() ? "no role" : head.role) + ", step " +
         std::to_string(head.step) + ", " + (head.phase.empty() ? "no phase" : head.phase) + ", " + call.call + " " +
         call.name + " on device " + std::to_string(call.device);
}

/// One check over all driver calls: `offends` returns what is wrong with one, or "".
template <class Offends>
AuditCheck overCalls(const Evidence& evidence, std::string id, std::string title, Offends offends) {
  AuditCheck check{std::move(id), std::move(title), AuditState::kClean, 0, {}};
  for (const Event& event : evidence.events()) {
    const DriverCall* call = event.as<DriverCall>();
    const std::string wrong = call == nullptr ? "" : offends(event.head, *call);
    if (wrong.empty()) continue;
    check.state = AuditState::kFound;
    if (++check.count <= static_cast<std::int64_t>(kMaxDetails))
      check.details.push_back(placeText(event.head, *call) + ": " + wrong);
  }
  return check;
}

AuditCheck strayMemory(const Evidence& evidence) {
  AuditCheck check{
      "stray-allocation", "no role takes memory on a device that it may not copy to", AuditState::kClean, 0, {}};
  if (!evidence.memory || evidence.memory->roles.empty()) {
    check.state = AuditState::kNotComputable;
    check.details.emplace_back(evidence.memory ? "memory.json does not say which role took what"
                                               : "the run left no memory.json");
    return check;
  }
  for (const auto& [role, taken] : evidence.memory->roles) {
    const int own = evidence.deviceOf(role);
    for (const auto& [device, bytes] : taken) {
      const bool mine = device == std::to_string(own);
      bool allowed = mine;
      for (const auto& [from, to] : evidence.topology.copyEdges) allowed |= from == own && std::to_string(to) == device;
      if (allowed || bytes <= 0 || own < 0) continue;
      check.state = AuditState::kFound;
      ++check.count;
      check.details.push_back(role + " of device " + std::to_string(own) + " took " + std::to_string(bytes) +
                              " bytes on device " + device);
    }
  }
  return check;
}

AuditCheck notComputable(std::string id, std::string title, std::string why) {
  return {std::move(id), std::move(title), AuditState::kNotComputable, 0, {std::move(why)}};
}

}  // namespace

std::vector<AuditCheck> auditRun(const Evidence& evidence) {
  const auto& topology = evidence.topology;
  return {
      overCalls(evidence, "refused-call", "the driver refuses nothing",
                [](const EventHead&, const DriverCall& call) {
                  return call.status == 0 || isBenign(call.status)
                             ? ""
                             : std::to_string(call.status) + " " + call.statusName;
                }),
      overCalls(evidence, "role-device", "a role works on its own device alone",
                [&](const EventHead& head, const DriverCall& call) -> std::string {
                  const int own = head.role.empty() ? -1 : evidence.deviceOf(head.role);
                  return own < 0 || !isWork(call) || call.device == own ? "" : "its own is " + std::to_string(own);
                }),
      overCalls(evidence, "unowned-launch", "every launch belongs to a role",
                [](const EventHead& head, const DriverCall& call) {
                  return is(call, CallKind::kLaunch) && head.role.empty() ? "no role owns the thread" : "";
                }),
      overCalls(evidence, "copy-edge", "copies keep to the edges of the topology",
                [&](const EventHead&, const DriverCall& call) -> std::string {
                  const int from = call.from.value_or(-1), to = call.to.value_or(-1);
                  if (!is(call, CallKind::kCopy) || from < 0 || to < 0 || topology.allowsCopy(from, to)) return "";
                  return "copied from device " + std::to_string(from) + " to " + std::to_string(to);
                }),
      overCalls(evidence, "foreign-touch", "a launch touches memory of its own device alone",
                [](const EventHead&, const DriverCall& call) -> std::string {
                  if (call.foreign.empty() || !is(call, CallKind::kLaunch)) return "";
                  const ForeignRange& range = call.foreign.front();
                  return (range.written ? "wrote " : "read ") + range.name + " of device " +
                         std::to_string(range.device);
                }),
      strayMemory(evidence),
      notComputable("stream-order", "every consumer waits for its producer",
                    "needs a trace with streams and events (CUPTI)"),
      notComputable("context-count", "one context a process and device", "needs a trace of a CUDA process"),
  };
}

}  // namespace redraft::harness
