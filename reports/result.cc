#include "reports/result.h"

#include <algorithm>

namespace redraft::reports {

bool CaseResult::asExpected() const {
  if (verdict != expected.verdict) return false;
  if (expected.finding.empty()) return verdict != Verdict::kPassed || findings.empty();
  return !findings.empty() && findings.front().id == expected.finding;
}

bool allAsExpected(const SuiteResult& suite, bool allowSkipped) {
  const auto fine = [&](const CaseResult& each) {
    return each.asExpected() || (allowSkipped && each.verdict == Verdict::kSkipped);
  };
  return suite.complete && std::all_of(suite.cases.begin(), suite.cases.end(), fine);
}

std::string summaryLine(const SuiteResult& suite) {
  std::map<Verdict, int> counts;
  int expected = 0, skipped = 0;
  for (const CaseResult& each : suite.cases) {
    ++counts[each.verdict];
    expected += each.asExpected() ? 1 : 0;
    skipped += !each.asExpected() && each.verdict == Verdict::kSkipped ? 1 : 0;
  }
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts) parts.push_back(std::to_string(count) + " " + enumName(verdict));
  const int total = static_cast<int>(suite.cases.size()), other = total - expected - skipped;
  std::string line = std::to_string(total) + (total == 1 ? " case: " : " cases: ") + std::to_string(expected) +
                     " as expected (" + join(parts, ", ") + ")";
  if (skipped != 0) line += ", " + std::to_string(skipped) + " skipped";
  if (other != 0) line += ", " + std::to_string(other) + " not";
  return line;
}

}  // namespace redraft::reports
