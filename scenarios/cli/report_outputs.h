#pragma once
// Where `redraft run` writes its reports.

#include <string>
#include <vector>

#include "harness/suite_record.h"
#include "reports/printers.h"

namespace redraft::scenarios {

struct ReportOutputs {
  std::vector<harness::ReportFile> files;
  const reports::Format* document = nullptr;  // on standard output, in place of the table; null: the table
  bool annotations = false;                   // GitHub's, below the table

  /// On standard output. Throws Error(kBadInput) when another document is there already.
  void show(const reports::Format& format);
};

/// Of `--format NAME[=FILE]`. Throws Error(kBadInput) on a name that is not known, an empty file, or a file named
/// twice.
ReportOutputs outputsOf(const std::vector<std::string>& options);

}  // namespace redraft::scenarios
