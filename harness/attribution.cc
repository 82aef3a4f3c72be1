#include "harness/attribution.h"

#include "base/text.h"
#include "devices/placement.h"
#include "harness/detectors/detectors.h"

namespace redraft::harness {

int Evidence::deviceOf(const std::string& role) const {
  for (const Event& event : events())
    if (const RoleBegin* begin = event.as<RoleBegin>(); begin != nullptr && event.head.role == role)
      return begin->device;
  return -1;
}

devices::Topology topologyOfRun(const devices::Topology& planned, const std::vector<Event>& events) {
  const RunBegin* begin = events.empty() ? nullptr : events.front().as<RunBegin>();
  if (begin == nullptr || begin->placement.empty()) return planned;
  return devices::Placement::recorded(planned, begin->placement).physical();
}

std::vector<reports::Finding> attribute(const Evidence& evidence) {
  Findings findings;
  for (const DetectorRow& row : kDetectors)
    for (reports::Finding& each : row.detect(evidence, findings)) findings.push_back(std::move(each));
  weighWithTrace(evidence, findings);
  return findings;
}

std::string signature(const reports::Finding& finding, const std::string& failureKind, int status) {
  return finding.id + "|" + failureKind + "|" + finding.role + "|" + std::to_string(finding.step) + "|" +
         finding.phase + "|" + std::to_string(status);
}

reports::Finding findingAt(const char* id, const EventHead& head, std::optional<int> device) {
  reports::Finding finding;
  finding.id = id;
  finding.role = head.role;
  finding.step = head.step;
  finding.phase = head.phase;
  finding.device = device;
  finding.evidence.push_back(head.seq);
  return finding;
}

Seen<ExceptionSeen> firstException(const Evidence& evidence) {
  return findFirst<ExceptionSeen>(evidence, [](const EventHead&, const ExceptionSeen&) { return true; });
}

std::string statusText(int status, const std::string& name) { return std::to_string(status) + " " + name; }

std::vector<std::string> messageLines(const std::string& what) {
  constexpr std::size_t kMaxLines = 6;
  std::vector<std::string> lines;
  for (const std::string& line : split(what, '\n')) {
    if (line.starts_with("Exception raised from") || line.starts_with("frame #") || lines.size() == kMaxLines) break;
    const std::size_t start = line.find_first_not_of(' ');
    if (start != std::string::npos) lines.push_back(line.substr(start));
  }
  return lines;
}

bool isTracingFlagText(const std::string& text) {
  return text.find("using FX to symbolically trace a dynamo-optimized function") != std::string::npos;
}

}  // namespace redraft::harness
