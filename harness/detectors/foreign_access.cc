// Launches that touched, and copies that used, an edge between devices that the topology does not have.
#include "devices/driver_log.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {
namespace {

struct Edge {
  int from = -1, to = -1;
  std::string what;
};

/// The edge outside the topology that a call used.
std::optional<Edge> strayEdge(const DriverCall& call, const devices::Topology& topology) {
  const bool copy = call.call == devices::callKindName(devices::CallKind::kCopy);
  if (copy && call.from.value_or(-1) >= 0 && call.to.value_or(-1) >= 0 && !topology.allowsCopy(*call.from, *call.to))
    return Edge{*call.from, *call.to, "copied " + std::to_string(call.bytes) + " bytes"};
  for (const ForeignRange& range : call.foreign) {
    const int from = range.written ? call.device : range.device, to = range.written ? range.device : call.device;
    if (!topology.allowsCopy(from, to))
      return Edge{from, to, (range.written ? "wrote " : "read ") + range.name + " in " + call.name};
  }
  return std::nullopt;
}

}  // namespace

Findings detectForeignAccess(const Evidence& evidence, const Findings& before) {
  // A cause that was found already explains what its launches touched.
  if (!before.empty()) return {};
  const auto stray = findAll<DriverCall>(evidence, [&](const EventHead&, const DriverCall& call) {
    return strayEdge(call, evidence.topology).has_value();
  });
  if (stray.empty()) return {};
  const Seen<DriverCall>& first = stray.front();
  const Edge edge = *strayEdge(*first.body, evidence.topology);
  reports::Finding finding = findingAt("affinity/foreign-access", *first.head, first.body->device);
  finding.title = edge.what + " from device " + std::to_string(edge.from) + " to device " + std::to_string(edge.to) +
                  ", an edge that the topology does not have" +
                  (first.body->status != 0 ? ": " + statusText(first.body->status, first.body->statusName) : "");
  finding.details.push_back("calls that did so: " + std::to_string(stray.size()));
  for (std::size_t i = 1; i < stray.size(); ++i) finding.evidence.push_back(stray[i].head->seq);
  finding.signature = signature(finding, first.body->status != 0 ? "refused" : "silent", first.body->status);
  return {finding};
}

}  // namespace redraft::harness
