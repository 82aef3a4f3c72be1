#pragma once
// Where suites leave their runs: OUT/<stamp>/ holds suite.jsonl, the reports and one run folder a case; OUT/latest
// points to the one that was started last, whatever became of it. Old ones go when there are too many or they are too
// large.

#include <cstdint>
#include <string>
#include <vector>

namespace redraft::harness {

inline constexpr const char* kSuiteFile = "suite.jsonl";
inline constexpr const char* kKeepFile = "keep";
inline constexpr const char* kReportPage = "report.html";  // of suites, benches and divergences

struct PruneLimits {
  std::size_t count = 20;                      // suites, the newest included
  std::int64_t bytes = std::int64_t{2} << 30;  // of all of them
};

/// Makes OUT/<UTC stamp>SUFFIX. Throws Error(kEnvironment).
std::string makeSuiteFolder(const std::string& out, const std::string& suffix);

/// Points OUT/latest at a suite; a failure is a warning.
void pointLatest(const std::string& suiteFolder);

/// From now on it is never pruned. Throws Error(kEnvironment).
void keepSuite(const std::string& suiteFolder);

/// Removes the oldest suites of OUT beyond the limits; never the newest, never one with a file `keep`, never a folder
/// that is no suite's. Returns what went. A folder that cannot be removed is left, with a warning.
std::vector<std::string> pruneSuites(const std::string& out, const PruneLimits& limits);

/// A folder name for a scenario: '/' becomes '.'.
std::string caseFolderName(const std::string& scenario);

}  // namespace redraft::harness
