#include "scenarios/cli/run_traces.h"

#include "base/error.h"
#include "base/files.h"
#include "harness/run_folder.h"
#include "harness/timing/time_difference.h"
#include "harness/trace/load_trace.h"

namespace redraft::scenarios {
namespace {

bool isRun(const std::string& path) { return fileExists(joinPath(path, harness::kEventsFile)); }

}  // namespace

std::vector<std::string> tracesOf(const std::string& path) {
  if (!isRun(path)) return {path};
  std::vector<std::string> folders;
  if (const std::string own = joinPath(path, harness::kTraceFolder); fileExists(own)) folders.push_back(own);
  for (const std::string& name : listDirectory(path)) {
    const std::string ofRank = joinPath(joinPath(path, name), harness::kTraceFolder);
    if (name.starts_with("rank-") && fileExists(ofRank)) folders.push_back(ofRank);
  }
  return folders;
}

harness::TimeSplit splitOf(const std::string& path, const harness::SplitOptions& options) {
  const std::vector<std::string> traces = tracesOf(path);
  if (traces.empty())
    throwBadInput(path, "is a run that left no trace", "run it again without --no-capture, to its end");
  return harness::splitTime(harness::loadTraces(traces), options);
}

std::optional<std::string> attributionOf(const std::string& runA, const std::string& runB) {
  for (const std::string& run : {runA, runB})
    if (!isRun(run) || tracesOf(run).empty()) return std::nullopt;
  try {
    return harness::differenceSummary(harness::differenceOf(splitOf(runA), splitOf(runB))) +
           "redraft attribute shows each device\n";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    return std::string("where time went cannot be told: ") + error.what() + "\n";
  }
}

}  // namespace redraft::scenarios
