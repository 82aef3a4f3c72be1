#include "reports/layout.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

constexpr std::size_t kMaxBytes = 900u << 10;

std::string cell(const std::string& text) { return " " + escapeMarkdown(text) + " |"; }

std::string row(const CaseResult& result) {
  const Figures& figures = result.figures;
  const auto all = figures.tokensPerSecond.find("all");
  const std::string finding = result.findings.empty() ? result.reason : result.findings.front().id;
  return "|" + cell(result.asExpected() ? "ok" : "NOT") + cell(enumName(result.verdict)) + cell(result.name) +
         cell(figures.steps > 0 ? std::to_string(figures.steps) : "–") +
         cell(all != figures.tokensPerSecond.end() ? formatRate(all->second) : "–") +
         cell(figures.lastLoss ? formatNumber(*figures.lastLoss) : "–") + cell(auditCell(result.audit)) +
         cell(finding) + "\n";
}

/// A fence that the text cannot close.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += "`";
  return fence + "\n" + text + fence + "\n";
}

std::string details(const CaseResult& result) {
  return "\n<details" + std::string(result.asExpected() ? "" : " open") + "><summary>" + escapeXml(result.name) +
         "</summary>\n\n" + fenced(printCase(result)) + "\n</details>\n";
}

}  // namespace

std::string printMarkdown(const SuiteResult& suite) {
  std::string out = "## Redraft: " + summaryLine(suite) + "\n\n";
  if (!suite.complete) out += "**The suite has not ended: cases without an end are shown as ABORTED.**\n\n";
  out +=
      "| | verdict | scenario | steps | tokens/s | last loss | audit | finding |\n|---|---|---|--:|--:|--:|---|---|\n";
  for (const CaseResult& each : suite.cases) out += row(each);
  std::size_t leftOut = 0;
  for (const bool wanted : {false, true}) {  // what was not expected first: it must not be what is cut
    for (const CaseResult& each : suite.cases) {
      if (each.asExpected() != wanted || each.findings.empty()) continue;
      const std::string text = details(each);
      if (out.size() + text.size() < kMaxBytes)
        out += text;
      else
        ++leftOut;
    }
  }
  if (leftOut > 0) out += "\n" + std::to_string(leftOut) + " more in report.json.\n";
  out += "\n" + escapeMarkdown("version " + suite.version + ", commit " + suite.commit) + "\n";
  return out;
}

}  // namespace redraft::reports
