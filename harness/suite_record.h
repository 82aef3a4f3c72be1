#pragma once
// The record of a suite: suite.jsonl, and the reports, which are written at once with every case as not ended and
// replaced as cases end. Whatever kills this program, what lies on the disk names every planned case, and none as
// passed that did not.

#include <mutex>
#include <string>
#include <vector>

#include "base/files.h"
#include "reports/known_failures.h"
#include "reports/printers.h"
#include "reports/result.h"

namespace redraft::harness {

inline constexpr const char* kSuiteSchema = "redraft.suite/1";

/// A report beside those in the suite's folder.
struct ReportFile {
  const reports::Format* format = nullptr;
  std::string path;
};

/// Thread-safe.
class SuiteRecord {
 public:
  /// Writes header, plan and reports. `suite` holds all cases as planned. Throws Error(kEnvironment). Entries of
  /// `known` expire by the day on which the suite was started.
  explicit SuiteRecord(reports::SuiteResult suite, std::vector<ReportFile> files = {},
                       reports::KnownFailureList known = {});

  void started(std::size_t index);
  /// Returns the result as it is recorded: marked where it is a known failure. Throws Error(kEnvironment) when the disk
  /// refuses; the reports are then as they were.
  reports::CaseResult ended(std::size_t index, reports::CaseResult result);
  void finish(double seconds);
  reports::SuiteResult result() const;

 private:
  void writeReports() const;
  std::string today() const { return suite_.started.substr(0, 10); }

  mutable std::mutex mutex_;
  reports::SuiteResult suite_;
  std::vector<ReportFile> files_;
  reports::KnownFailureList known_;
  std::vector<bool> ended_;
  LineWriter lines_;
};

/// Reads a suite's record back, from suite.jsonl alone; cases without an end are ABORTED. Throws Error(kBadInput).
reports::SuiteResult loadSuite(const std::string& folder);

}  // namespace redraft::harness
