#include <algorithm>

#include "base/formatted.h"
#include "base/text.h"
#include "harness/affinity/trace_audit.h"
#include "harness/trace/binary_trace.h"

namespace redraft::harness {
namespace {

std::string millis(std::int64_t nanos) { return formatted("%.6f ms", static_cast<double>(nanos) / 1e6); }

std::string checkText(const TraceCheck& check) {
  std::string text = enumName(check.state);
  if (check.count > 0) text += " (" + std::to_string(check.count) + ")";
  text.resize(std::max<std::size_t>(text.size(), 16), ' ');
  text += "  " + check.id + std::string(check.id.size() < 3 ? 3 - check.id.size() : 0, ' ') + "  " + check.name + ": " +
          check.title + "\n";
  const std::string indent(18, ' ');
  for (const Violation& found : check.violations)
    text += indent + printable(found.message, 400) + "\n" + indent + "  " + recordText(found) + "\n";
  if (check.count > static_cast<std::int64_t>(check.violations.size()))
    text +=
        indent + "and " + std::to_string(check.count - static_cast<std::int64_t>(check.violations.size())) + " more\n";
  if (!check.reason.empty()) text += indent + (check.count > 0 ? "in part: " : "") + check.reason + "\n";
  return text;
}

std::string summary(const TraceAudit& audit) {
  std::int64_t counts[3] = {};
  for (const TraceCheck& check : audit.checks) ++counts[static_cast<std::size_t>(check.state)];
  const auto broken = std::count_if(audit.gate.begin(), audit.gate.end(),
                                    [](const TraceCheck& check) { return check.state == AuditState::kFound; });
  std::string text = std::to_string(audit.checks.size()) + " checks: " + std::to_string(counts[0]) + " clean, " +
                     std::to_string(counts[1]) + " found, " + std::to_string(counts[2]) + " not computable";
  if (broken > 0) text += "; the trace is not whole: " + std::to_string(broken) + " of the gate";
  return text + "\n";
}

}  // namespace

std::string recordText(const Violation& found) {
  const std::string place = std::to_string(found.place);
  std::string text =
      found.file + ": " +
      (found.file.ends_with(kBinaryTraceSuffix) ? "record " + place
                                                : "event " + std::to_string(found.event) + " at byte " + place) +
      ", " + found.kind + " \"" + printable(found.name, 60) + "\", " + millis(found.startNs);
  const auto number = [&](const char* what, std::int64_t value) {
    if (value >= 0) text += std::string(", ") + what + " " + std::to_string(value);
  };
  number("device", found.device);
  number("context", found.context);
  number("stream", found.stream);
  number("thread", found.thread);
  number("step", found.step);
  return found.role.empty() ? text : text + ", " + printable(found.role);
}

std::string auditText(const TraceAudit& audit) {
  std::string text = "coverage of " + std::to_string(audit.files.size()) +
                     (audit.files.size() == 1 ? " file, " : " files, ") + std::to_string(audit.events) + " events\n";
  for (const TraceCheck& check : audit.gate) text += checkText(check);
  text += audit.contract ? "affinity, by the contract\n" : "affinity, without a contract\n";
  for (const TraceCheck& check : audit.checks) text += checkText(check);
  return text + summary(audit);
}

}  // namespace redraft::harness
