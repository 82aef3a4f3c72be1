#pragma once
// What is wrong with a suite, a row each: the form that SARIF, GitLab and annotations have in common.

#include <string>
#include <vector>

#include "reports/result.h"

namespace redraft::reports {

enum class Level { kError, kWarning, kNote };

}  // namespace redraft::reports

template <>
struct redraft::NameTable<redraft::reports::Level> {
  using Level = reports::Level;
  static constexpr std::pair<Level, const char*> kNames[] = {
      {Level::kError, "error"}, {Level::kWarning, "warning"}, {Level::kNote, "note"}};
};

namespace redraft::reports {

/// A finding of a case that is not as expected; where it has none, its verdict; or an entry of the known failures that
/// needs care. Points into the suite that it was made from.
struct Issue {
  std::string id;           // a finding's, "verdict/skipped", or "known-failures/expired"
  std::string title;        // one line
  std::string fingerprint;  // equal for equal issues, in every run and format
  std::string path;         // the file to show it at, relative where it can be
  Level level = Level::kError;
  int count = 1;                        // findings of this fingerprint in its case
  const CaseResult* result = nullptr;   // null: it is about an entry of the known failures
  const Finding* finding = nullptr;     // null: it is about the verdict
  const KnownFailure* known = nullptr;  // null: it is not known
};

/// One for each fingerprint; none when the case is as expected.
std::vector<Issue> issuesOf(const CaseResult& result);

/// Of all cases, in the order of the plan, then of the known failures.
std::vector<Issue> issuesOf(const SuiteResult& suite);

/// Whether an entry covers an issue; that it has expired is not looked at.
bool covers(const KnownFailure& entry, const Issue& issue);

/// The worst first; within one level as they were.
std::vector<Issue> byLevel(std::vector<Issue> issues);

/// "FAILED, expected PASSED".
std::string verdictText(const CaseResult& result);

}  // namespace redraft::reports
