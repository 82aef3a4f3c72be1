#include "reports/known_failures.h"
#include "reports/layout.h"
#include "reports/printers.h"

namespace redraft::reports {
namespace {

constexpr std::size_t kMaxBytes = 900u << 10;
constexpr std::size_t kMaxTable = 500u << 10;
constexpr std::size_t kMaxKnown = 100u << 10;

std::string cell(const std::string& text) { return " " + escapeMarkdown(text) + " |"; }

std::string row(const CaseResult& result) {
  const Figures& figures = result.figures;
  const auto all = figures.tokensPerSecond.find("all");
  const std::string finding = result.findings.empty() ? result.reason : result.findings.front().id;
  return "|" + cell(markOf(result)) + cell(enumName(result.verdict)) + cell(result.name) +
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

bool needsReading(const CaseResult& result) { return !result.asExpected() && !result.isKnownFailure(); }

std::string details(const CaseResult& result) {
  return "\n<details" + std::string(needsReading(result) ? " open" : "") + "><summary>" + escapeXml(result.name) +
         "</summary>\n\n" + fenced(printCase(result)) + "\n</details>\n";
}

/// Every case; where they are too many, those first that were not expected.
std::string table(const SuiteResult& suite) {
  const std::string head =
      "| | verdict | scenario | steps | tokens/s | last loss | audit | finding |\n|---|---|---|--:|--:|--:|---|---|\n";
  std::string out = head;
  for (const CaseResult& each : suite.cases) out += row(each);
  if (out.size() <= kMaxTable) return out;
  out = head;
  std::size_t leftOut = 0;
  for (const bool wanted : {false, true}) {
    for (const CaseResult& each : suite.cases) {
      if (each.asExpected() != wanted) continue;
      const std::string text = row(each);
      if (out.size() + text.size() <= kMaxTable)
        out += text;
      else
        ++leftOut;
    }
  }
  return out + "\n" + std::to_string(leftOut) + " more cases in report.json.\n";
}

std::string knownFailures(const SuiteResult& suite) {
  std::string out;
  std::size_t leftOut = 0;
  for (const KnownFailureUse& use : suite.known) {
    const std::string problem = problemOf(use);
    if (problem.empty()) continue;
    if (out.size() + problem.size() > kMaxKnown) {
      ++leftOut;
      continue;
    }
    out += std::string("- ") + (use.state == KnownState::kExpired ? "**" : "") + "known failure " +
           escapeMarkdown(problem) + (use.state == KnownState::kExpired ? "**" : "") + "\n";
  }
  if (leftOut > 0) out += "- " + std::to_string(leftOut) + " more\n";
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string printMarkdown(const SuiteResult& suite) {
  std::string out = "## Redraft: " + summaryLine(suite) + "\n\n";
  if (!suite.complete) out += "**The suite has not ended: cases without an end are shown as ABORTED.**\n\n";
  out += table(suite) + knownFailures(suite);
  std::size_t leftOut = 0;
  for (const bool wanted : {false, true}) {  // what was not expected first: it must not be what is cut
    for (const CaseResult& each : suite.cases) {
      if (needsReading(each) == wanted || (each.findings.empty() && each.asExpected())) continue;
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
