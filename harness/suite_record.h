#pragma once
// The record of a suite: suite.jsonl, and the reports, which are written at once with every case as not ended and
// replaced as cases end. Whatever kills this program, what lies on the disk names every planned case, and none as
// passed that did not.

#include <mutex>
#include <string>
#include <vector>

#include "base/files.h"
#include "reports/result.h"

namespace redraft::harness {

inline constexpr const char* kSuiteSchema = "redraft.suite/1";

/// Further report files, beside those in the suite's folder.
struct ReportFiles {
  std::string junit, markdown;  // "": none
};

/// Thread-safe.
class SuiteRecord {
 public:
  /// Writes header, plan and reports. `suite` holds all cases as planned. Throws Error(kEnvironment).
  SuiteRecord(reports::SuiteResult suite, ReportFiles files);

  void started(std::size_t index);
  /// Throws Error(kEnvironment) when the disk refuses; the reports are then as they were.
  void ended(std::size_t index, const reports::CaseResult& result);
  void finish(double seconds);
  reports::SuiteResult result() const;

 private:
  void writeReports() const;

  mutable std::mutex mutex_;
  reports::SuiteResult suite_;
  ReportFiles files_;
  std::vector<bool> ended_;
  LineWriter lines_;
};

/// Reads a suite's record back, from suite.jsonl alone; cases without an end are ABORTED. Throws Error(kBadInput).
reports::SuiteResult loadSuite(const std::string& folder);

}  // namespace redraft::harness
