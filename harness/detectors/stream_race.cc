// Two streams that touch one range with no event between them: what the simulator's happens-before check reports. The
// look-alike is a range that lies on another device, which is refused or foreign, and not a matter of order.
#include "devices/driver_log.h"
#include "harness/attribution.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {

Findings detectStreamRace(const Evidence& evidence, const Findings&) {
  const auto races = findAll<DriverCall>(evidence, [](const EventHead&, const DriverCall& call) {
    return call.call == devices::callKindName(devices::CallKind::kRace);
  });
  if (races.empty()) return {};
  const Seen<DriverCall>& first = races.front();
  reports::Finding finding = findingAt("streams/race", *first.head, first.body->device);
  finding.title = first.body->name + " uses memory that another stream has used, and no event orders the two";
  for (const std::string& line : messageLines(first.body->detail)) finding.details.push_back(line);
  finding.details.push_back("races in all: " + std::to_string(races.size()) +
                            "; record an event after the producer and wait for it");
  for (std::size_t i = 1; i < races.size(); ++i) finding.evidence.push_back(races[i].head->seq);
  if (first.body->objectDevice == first.body->device)
    finding.ruledOut.push_back(
        {"affinity/foreign-access", "both streams are of device " + std::to_string(first.body->device)});
  finding.signature = signature(finding, "race", first.body->status);
  return {finding};
}

}  // namespace redraft::harness
