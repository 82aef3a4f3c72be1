#pragma once
// A small complete run folder, as the runner writes it, whose numbers a test can change.

#include <functional>
#include <string>

#include "golden/record.h"
#include "tests/support/temp_folder.h"

namespace redraft::golden {

using TemporaryFolder = testing_support::TempFolder;

/// Overwrites a file without the sync of writeFileAtomically, for tests that write thousands.
void overwrite(const std::string& path, const std::string& text);

/// Three steps, two parameters, one device, an evaluation; the same every time.
Record exampleRecord();

/// Writes `record` as a run folder.
void writeRun(const std::string& folder, const Record& record);

}  // namespace redraft::golden
