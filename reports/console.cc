#include "reports/issue.h"
#include "reports/known_failures.h"
#include "reports/layout.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

constexpr std::size_t kMaxEvidence = 8;

class Painter {
 public:
  explicit Painter(const ConsoleStyle& style) : style_(style) {}
  std::string good(const std::string& text) const { return paint(text, "32"); }
  std::string bad(const std::string& text) const { return paint(text, "1;31"); }
  std::string quiet(const std::string& text) const { return paint(text, "2"); }
  std::string strong(const std::string& text) const { return paint(text, "1"); }

 private:
  std::string paint(const std::string& text, const char* code) const {
    return style_.color ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }
  ConsoleStyle style_;
};

std::string outcome(const CaseResult& result) {
  if (!result.findings.empty()) return result.findings.front().id;
  return result.reason;
}

std::vector<std::string> tableRow(const CaseResult& result) {
  const Figures& figures = result.figures;
  const auto all = figures.tokensPerSecond.find("all");
  return {markOf(result),
          enumName(result.verdict),
          result.name,
          figures.steps > 0 ? std::to_string(figures.steps) : "–",
          all != figures.tokensPerSecond.end() ? formatRate(all->second) : "–",
          figures.seconds > 0 ? formatSeconds(figures.seconds) : "–",
          auditCell(result.audit),
          outcome(result)};
}

std::string expectation(const CaseResult& result) {
  std::string text = enumName(result.expected.verdict);
  if (!result.expected.finding.empty()) text += " " + result.expected.finding;
  return text;
}

std::string placeOf(const Finding& finding) {
  std::vector<std::string> parts;
  if (!finding.role.empty()) parts.push_back(finding.role);
  if (finding.step >= 0) parts.push_back("step " + std::to_string(finding.step));
  if (!finding.phase.empty()) parts.push_back(finding.phase);
  if (finding.device) parts.push_back("device " + std::to_string(*finding.device));
  return join(parts, ", ");
}

std::string evidenceOf(const Finding& finding) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < finding.evidence.size() && i < kMaxEvidence; ++i)
    parts.push_back(std::to_string(finding.evidence[i]));
  if (finding.evidence.size() > kMaxEvidence)
    parts.push_back("and " + std::to_string(finding.evidence.size() - kMaxEvidence) + " more");
  return parts.empty() ? "" : "events " + join(parts, ", ");
}

/// A label and its text; further lines of the text stay in its column.
void addLine(std::string& out, const std::string& label, const std::string& text) {
  if (text.empty()) return;
  const std::vector<std::string> lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) out += "    " + padRight(i == 0 ? label : "", 11) + lines[i] + "\n";
}

std::string printFinding(const Finding& finding, bool first, const Painter& painter) {
  std::string out;
  addLine(out, first ? "cause" : "also", painter.strong(finding.id) + ": " + finding.title);
  addLine(out, "where", placeOf(finding));
  for (std::size_t i = 0; i < finding.details.size(); ++i) addLine(out, i == 0 ? "details" : "", finding.details[i]);
  addLine(out, "evidence", evidenceOf(finding));
  for (const TraceProof& proof : finding.proofs)
    addLine(out, "proof", proof.check + ": " + proof.message + "\n" + proof.record);
  for (std::size_t i = 0; i < finding.ruledOut.size(); ++i)
    addLine(out, i == 0 ? "ruled out" : "", finding.ruledOut[i].id + ": " + finding.ruledOut[i].because);
  return out;
}

std::string knownLines(const SuiteResult& suite, const Painter& painter) {
  std::string out;
  for (const KnownFailureUse& use : suite.known) {
    const std::string problem = problemOf(use);
    if (problem.empty()) continue;
    const std::string text = "known failure " + problem;
    out += "\n" + (use.state == KnownState::kExpired ? painter.bad(text) : text) + "\n";
  }
  return out;
}

bool worthTelling(const CaseResult& result) {
  return !result.asExpected() || !result.findings.empty() || !result.reason.empty() || result.figures.pace.scaling;
}

}  // namespace

std::string printCase(const CaseResult& result, const ConsoleStyle& style) {
  const Painter painter(style);
  const std::string verdict = enumName(result.verdict);
  std::string out = "  " + (result.asExpected() ? painter.good(verdict) : painter.bad(verdict)) + " " +
                    painter.strong(result.name) +
                    (result.asExpected() ? ", as expected" : ", but expected " + expectation(result)) +
                    (result.isKnownFailure() ? ", a known failure" : "") + "\n";
  for (std::size_t i = 0; i < result.findings.size(); ++i) out += printFinding(result.findings[i], i == 0, painter);
  const std::vector<Issue> issues = issuesOf(result);
  for (std::size_t i = 0; i < issues.size(); ++i)
    addLine(out, i == 0 ? "stable id" : "", issues[i].fingerprint + "  " + issues[i].id);
  for (std::size_t i = 0; i < result.known.size(); ++i) addLine(out, i == 0 ? "known" : "", describe(result.known[i]));
  addLine(out, "reason", result.reason);
  if (result.audit) addLine(out, "audit", auditLine(*result.audit));
  addLine(out, "golden", result.golden);
  addLine(out, "pace", paceLine(result.figures.pace));
  addLine(out, "ended", result.ended);
  addLine(out, "run", result.runFolder);
  addLine(out, "replay", result.replay);
  return out;
}

std::string printConsole(const SuiteResult& suite, const ConsoleStyle& style) {
  const Painter painter(style);
  std::vector<std::vector<std::string>> rows = {
      {"", "verdict", "scenario", "steps", "tokens/s", "time", "audit", "finding"}};
  for (const CaseResult& each : suite.cases) rows.push_back(tableRow(each));
  const std::vector<std::string> lines = alignColumns(rows, "  ", {3, 4, 5});
  std::string out = painter.quiet(lines[0]) + "\n";
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t mark = rows[i][0].size();
    const CaseResult& each = suite.cases[i - 1];
    const std::string text = lines[i].substr(0, mark);
    out += (each.asExpected()       ? painter.good(text)
            : each.isKnownFailure() ? text
                                    : painter.bad(text)) +
           lines[i].substr(mark) + "\n";
  }
  for (const CaseResult& each : suite.cases)
    if (worthTelling(each)) out += "\n" + printCase(each, style);
  out += knownLines(suite, painter);
  const std::string summary = summaryLine(suite) + " in " + formatSeconds(suite.seconds);
  out += "\n" + (isGreen(suite) ? painter.good(summary) : painter.bad(summary)) + "\n";
  if (!suite.folder.empty()) out += "report: " + suite.folder + "\n";
  return out;
}

}  // namespace redraft::reports
