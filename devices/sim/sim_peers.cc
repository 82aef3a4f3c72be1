#include <utility>

#include "devices/sim/sim_driver_impl.h"

namespace redraft::devices {

SimDriverImpl::Verdict SimDriverImpl::checkPeers(int from, int to) const {
  if (Verdict verdict = poison(); verdict.refused()) return verdict;
  if (validDevice(from) && validDevice(to)) return {};
  return {Status::kInvalidDevice, "there is no device " + std::to_string(validDevice(from) ? to : from)};
}

Status SimDriverImpl::finishPeers(Verdict verdict, const char* what, int from, int to) {
  return finish(CallKind::kPeerAccess, verdict.status, [&](LogRecord& record) {
    record.name = what;
    record.fromDevice = from;
    record.toDevice = to;
    record.detail = std::move(verdict.why);
  });
}

Status SimDriverImpl::canAccessPeer(int from, int to, bool* can) {
  *can = validDevice(from) && validDevice(to) && from != to && options_.topology.peerAccess;
  Verdict verdict = checkPeers(from, to);
  return verdict.refused() ? finishPeers(std::move(verdict), "query", from, to) : Status::kSuccess;
}

Status SimDriverImpl::enablePeerAccess(int from, int to) {
  Verdict verdict = checkPeers(from, to);
  if (!verdict.refused() && (from == to || !options_.topology.peerAccess)) {
    verdict = {Status::kPeerAccessUnsupported,
               from == to ? "a device is no peer of itself" : "the topology has no peer access"};
  }
  if (!verdict.refused() && peers_[peerIndex(from, to)].exchange(true)) {
    verdict = {Status::kPeerAccessAlreadyEnabled, ""};
  }
  return finishPeers(std::move(verdict), "enable", from, to);
}

Status SimDriverImpl::disablePeerAccess(int from, int to) {
  Verdict verdict = checkPeers(from, to);
  if (!verdict.refused() && !peers_[peerIndex(from, to)].exchange(false)) {
    verdict = {Status::kPeerAccessNotEnabled, ""};
  }
  return finishPeers(std::move(verdict), "disable", from, to);
}

}  // namespace redraft::devices
