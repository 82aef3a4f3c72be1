#pragma once
// Golden baselines: two files a scenario, keyed by numerics class and by performance class, with where they come from.

#include <optional>
#include <string>
#include <vector>

#include "golden/compare.h"
#include "golden/record.h"

namespace redraft::golden {

struct Provenance {
  std::string commit, command, reason, date, version;
  std::map<std::string, std::string> environment;  // allow-listed variables
};

/// Role → the median tokens/s of each of several runs of one build, in the order in which they were run.
using RunRates = std::map<std::string, std::vector<double>>;

struct Golden {
  Record record;  // numerics: all but samples; performance: samples alone
  Provenance provenance;
  RunRates runRates = {};  // performance: how far repeated runs are apart; empty: nobody recorded it
};

/// <root>/<scenario>/numerics/<class>.json and <root>/<scenario>/perf/<class>.json.
std::string numericsPath(const std::string& root, const std::string& scenario, const NumericsClass& key);
std::string performancePath(const std::string& root, const std::string& scenario, const PerformanceClass& key);

/// The root: `given` when not empty (must exist), else golden/data found upward from `start`. Empty when there is none.
std::string findGoldens(const std::string& given, const std::string& start);

/// A golden file. Throws Error(kBadInput) with file, line and key on anything malformed.
Golden loadGolden(const std::string& path);

/// The golden of this class; nullopt when there is none. `otherClasses` then names those that there are.
std::optional<Golden> findNumerics(const std::string& root, const std::string& scenario, const NumericsClass& key,
                                   std::vector<std::string>* otherClasses = nullptr);
std::optional<Golden> findPerformance(const std::string& root, const std::string& scenario,
                                      const PerformanceClass& key);

struct BlessResult {
  std::string numericsFile, performanceFile;  // performanceFile empty when the run has no samples
  bool isNew = false;
  NumericsComparison difference;  // from the golden that was there
};

/// What bless() would write, and how it differs from what is there.
BlessResult previewBless(const Record& run, const std::string& root, const std::string& scenario);
/// Writes both files atomically. Throws Error(kBadInput) when the reason is empty or the record is incomplete.
BlessResult bless(const Record& run, const std::string& root, const std::string& scenario, const Provenance& provenance,
                  const RunRates& runRates = {});

/// The rates of `run` and of further runs of the same build, in this order. Throws Error(kBadInput) naming a run that
/// is of another scenario or machine, or has other numbers.
RunRates ratesOf(const Record& run, const std::vector<Record>& repeats);

/// A run folder or a golden file, whichever `path` is.
Record loadRecord(const std::string& path);

}  // namespace redraft::golden
