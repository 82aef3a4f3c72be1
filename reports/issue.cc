#include "reports/issue.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "reports/fingerprint.h"
#include "reports/known_failures.h"

namespace redraft::reports {
namespace {

constexpr const char* kSuiteScope = "known-failures";  // stands for a scenario in the fingerprint of an entry

/// The verdict is the fault only where no finding says more.
std::string verdictId(Verdict verdict) {
  std::string id = std::string("verdict/") + enumName(verdict);
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  return id;
}

Level levelOf(const CaseResult& result) {
  if (result.isKnownFailure()) return Level::kNote;
  const bool unclear = result.verdict == Verdict::kSkipped || result.verdict == Verdict::kIncomparable;
  return unclear ? Level::kWarning : Level::kError;
}

Issue blankIssue(const CaseResult& result) {
  Issue issue;
  issue.path = result.source;
  issue.level = levelOf(result);
  issue.result = &result;
  return issue;
}

Issue verdictIssue(const CaseResult& result) {
  Issue issue = blankIssue(result);
  issue.id = verdictId(result.verdict);
  issue.title = verdictText(result) + (result.reason.empty() ? "" : ": " + result.reason);
  issue.fingerprint = fingerprintOf(result.name, issue.id);
  return issue;
}

void findKnown(const CaseResult& result, Issue& issue) {
  for (const KnownFailure& entry : result.known)
    if (issue.known == nullptr && covers(entry, issue)) issue.known = &entry;
}

}  // namespace

std::string verdictText(const CaseResult& result) {
  std::string text = std::string(enumName(result.verdict)) + ", expected " + enumName(result.expected.verdict);
  if (!result.expected.finding.empty()) text += " " + result.expected.finding;
  return text;
}

bool covers(const KnownFailure& entry, const Issue& issue) {
  if (issue.result == nullptr) return false;
  if (entry.scenario != issue.result->name && !globMatch(entry.scenario, issue.result->name)) return false;
  return entry.fingerprint.empty() ? entry.finding == issue.id : entry.fingerprint == issue.fingerprint;
}

std::vector<Issue> issuesOf(const CaseResult& result) {
  std::vector<Issue> issues;
  if (result.asExpected()) return issues;
  for (const Finding& finding : result.findings) {
    const std::string fingerprint = fingerprintOf(result.name, finding);
    const auto same = [&](const Issue& each) { return each.fingerprint == fingerprint; };
    const auto before = std::find_if(issues.begin(), issues.end(), same);
    if (before != issues.end()) {
      ++before->count;
      continue;
    }
    Issue issue = blankIssue(result);
    issue.id = finding.id;
    issue.title = finding.title;
    issue.fingerprint = fingerprint;
    issue.finding = &finding;
    issues.push_back(std::move(issue));
  }
  if (issues.empty()) issues.push_back(verdictIssue(result));
  for (Issue& issue : issues) findKnown(result, issue);
  return issues;
}

std::vector<Issue> issuesOf(const SuiteResult& suite) {
  std::vector<Issue> issues;
  for (const CaseResult& each : suite.cases)
    for (Issue& issue : issuesOf(each)) issues.push_back(std::move(issue));
  for (const KnownFailureUse& use : suite.known) {
    const std::string problem = problemOf(use);
    if (problem.empty()) continue;
    Issue issue;
    issue.id = use.state == KnownState::kExpired ? "known-failures/expired" : "known-failures/stale";
    issue.title = problem;
    issue.fingerprint = fingerprintOf(
        kSuiteScope, issue.id + " " + use.entry.scenario + " " + use.entry.finding + use.entry.fingerprint);
    issue.path = suite.knownFile;
    issue.level = use.state == KnownState::kExpired ? Level::kError : Level::kWarning;
    issues.push_back(std::move(issue));
  }
  return issues;
}

std::vector<Issue> byLevel(std::vector<Issue> issues) {
  std::stable_sort(issues.begin(), issues.end(), [](const Issue& a, const Issue& b) { return a.level < b.level; });
  return issues;
}

}  // namespace redraft::reports
