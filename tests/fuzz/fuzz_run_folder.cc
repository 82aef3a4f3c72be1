// What a run leaves but its events, and the record of a suite. The input holds several files (input_folder.h).
#include <string>

#include "base/error.h"
#include "golden/compare.h"
#include "golden/record.h"
#include "harness/run_folder.h"
#include "harness/suite_record.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/input_folder.h"

namespace redraft::harness {
namespace {

void checkRun(const std::string& folder) {
  const golden::Record run = golden::loadRun(folder);
  REDRAFT_CHECK(run.gradients.size() == run.steps.size(), "a step without digests");
  for (const auto& step : run.gradients)
    REDRAFT_CHECK(step.size() == run.parameters.size(), "a parameter without a digest");
  const golden::NumericsComparison same = golden::compareNumerics(run, run);
  REDRAFT_CHECK(same.outcome != golden::Outcome::kDifferent, "a run differs from itself: " + golden::describe(same));
}

void checkSuite(const std::string& folder) {
  const reports::SuiteResult suite = loadSuite(folder);
  const reports::SuiteResult again = recordFromJson<reports::SuiteResult>(recordToJson(suite), "again");
  REDRAFT_CHECK(recordToJson(again) == recordToJson(suite), "a suite did not survive writing");
}

void readFolder(std::string_view bytes) {
  static const fuzz::InputFolder input;
  static const std::vector<std::string> names = {kMetricsFile, "digests.bin", kMemoryFile,  kEnvironmentFile,
                                                 kResultFile,  kLogFile,      "suite.jsonl"};
  input.lay(bytes, names);
  const std::string& folder = input.path();
  fuzz::mayRefuse(folder, [&] { checkRun(folder); });
  fuzz::mayRefuse(folder, [&] { loadMemoryReport(folder); });
  fuzz::mayRefuse(folder, [&] { loadCaseResult(folder); });
  fuzz::mayRefuse(folder, [&] { checkSuite(folder); });
  REDRAFT_CHECK(logTail(folder, 3).size() <= 3, "more lines than were asked for");
}

}  // namespace
}  // namespace redraft::harness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  redraft::harness::readFolder({reinterpret_cast<const char*>(data), size});
  return 0;
}
