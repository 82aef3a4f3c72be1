#pragma once
// The HTML report of a suite, drawn with what its runs left (reports/html/page.h says what that is).

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/case_plan.h"
#include "reports/html/page.h"
#include "reports/result.h"

namespace redraft::harness {

/// The most that a page holds. Beyond it, a part says what was left out.
struct PageLimits {
  std::size_t bars = 250'000;       // of all timelines
  std::size_t barsOfCase = 60'000;  // of one
  std::size_t cases = 400;          // with details, those that did not end as expected first
  std::size_t steps = 400;          // of a curve
  std::size_t parameters = 64;      // of a gradient map, the largest
  std::size_t gradientSteps = 200;  // of a gradient map
  std::size_t samples = 1000;       // of a role
  std::size_t suites = 30;          // of the trend, the newest
  std::size_t lines = 20;           // of a device's time, the longest
  std::size_t lanes = 64;           // of a timeline, those with the most records
};

/// What the times of a case are compared with.
struct PageReference {
  std::string name;
  std::vector<std::string> traces;  // files or folders
};

struct PageOptions {
  /// The plan of a case as it was run, for its contract and golden; nullopt: not known, and the page says so.
  std::function<std::optional<CasePlan>(const reports::CaseResult&)> planOf;
  std::string goldens;  // folder; "": none
  PageLimits limits = {};
  /// Empty, or nullopt: a case's times are compared with nothing.
  std::function<std::optional<PageReference>(const reports::CaseResult&)> referenceOf = {};
};

/// Reads the suite's run folders. What cannot be read is a notice on the page, not an error.
reports::PageDetails pageDetails(const reports::SuiteResult& suite, const PageOptions& options);

/// Writes the page to each of the files, whole or not at all. Throws Error(kEnvironment) when the disk refuses.
void writePages(const std::vector<std::string>& paths, const reports::SuiteResult& suite, const PageOptions& options);

}  // namespace redraft::harness
