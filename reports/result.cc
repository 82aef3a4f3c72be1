#include "reports/result.h"

#include <algorithm>

namespace redraft::reports {

bool CaseResult::asExpected() const {
  if (verdict != expected.verdict) return false;
  if (expected.finding.empty()) return verdict != Verdict::kPassed || findings.empty();
  return !findings.empty() && findings.front().id == expected.finding;
}

const char* markOf(const CaseResult& result) {
  return result.asExpected() ? "ok" : result.isKnownFailure() ? "known" : "NOT";
}

bool isGreen(const SuiteResult& suite, const Allowances& allowances) {
  const auto fine = [&](const CaseResult& each) {
    return each.asExpected() || each.isKnownFailure() || (allowances.skipped && each.verdict == Verdict::kSkipped);
  };
  const auto holds = [&](const KnownFailureUse& each) {
    const bool stale = each.state == KnownState::kPasses || each.state == KnownState::kUnmatched;
    return each.state != KnownState::kExpired && (allowances.staleKnown || !stale);
  };
  return suite.complete && std::all_of(suite.cases.begin(), suite.cases.end(), fine) &&
         std::all_of(suite.known.begin(), suite.known.end(), holds);
}

std::string auditLine(const AuditSummary& audit) {
  std::vector<std::string> missing, parts;
  for (const NotComputable& check : audit.notComputable) missing.push_back(check.id);
  if (!audit.reason.empty()) parts.push_back(std::string(enumName(audit.outcome)) + ": " + audit.reason);
  if (!audit.found.empty()) parts.push_back("found " + join(audit.found, ", "));
  if (!audit.clean.empty()) parts.push_back("clean " + join(audit.clean, ", "));
  if (!missing.empty()) parts.push_back("not computable " + join(missing, ", "));
  return parts.empty() ? enumName(audit.outcome) : join(parts, "; ");
}

std::string auditCell(const std::optional<AuditSummary>& audit) {
  if (!audit || audit->outcome == AuditOutcome::kAbsent) return "–";
  if (audit->outcome == AuditOutcome::kClean) return std::to_string(audit->clean.size()) + " clean";
  std::vector<std::string> ids;
  for (const std::string& found : audit->found) ids.push_back(found.substr(0, found.find(' ')));
  return ids.empty() ? enumName(audit->outcome) : join(ids, " ");
}

std::string summaryLine(const SuiteResult& suite) {
  std::map<Verdict, int> counts;
  int expected = 0, known = 0, skipped = 0, other = 0;
  for (const CaseResult& each : suite.cases) {
    ++counts[each.verdict];
    if (each.asExpected())
      ++expected;
    else if (each.isKnownFailure())
      ++known;
    else
      ++(each.verdict == Verdict::kSkipped ? skipped : other);
  }
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts) parts.push_back(std::to_string(count) + " " + enumName(verdict));
  const std::size_t total = suite.cases.size();
  std::string line = std::to_string(total) + (total == 1 ? " case: " : " cases: ") + std::to_string(expected) +
                     " as expected (" + join(parts, ", ") + ")";
  if (known != 0) line += ", " + std::to_string(known) + (known == 1 ? " known failure" : " known failures");
  if (skipped != 0) line += ", " + std::to_string(skipped) + " skipped";
  if (other != 0) line += ", " + std::to_string(other) + " not";
  return line;
}

}  // namespace redraft::reports
