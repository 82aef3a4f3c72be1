#pragma once
// Golden baselines: two files a scenario, keyed by numerics class and by performance class, with where they come from.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "golden/compare.h"
#include "golden/record.h"
#include "golden/tolerance.h"

namespace redraft::golden {

struct Provenance {
  std::string commit, command, reason, date, version;  // commit and version: of the program that made the run
  std::map<std::string, std::string> environment;      // allow-listed variables
  std::string accepted;                                // "everything", or how many of the values that had changed
};

/// Role → the median tokens/s of each of several runs of one build, in the order in which they were run.
using RunRates = std::map<std::string, std::vector<double>>;
constexpr std::size_t kMaxHistory = 20;  // reasons that a golden keeps beside its last

struct Golden {
  Record record;  // numerics: all but samples; performance: samples alone
  Provenance provenance;
  // Of numerics, for comparisons across classes (golden/tolerance.h).
  std::map<std::string, MetricRule> rules{};
  std::optional<Arithmetic> arithmetic{};  // nullopt, and no responses: it is compared within its class alone
  Responses responses{};
  RunRates runRates{};                 // performance: how far repeated runs are apart; empty: nobody recorded it
  std::vector<std::string> history{};  // "DATE COMMIT REASON" of what was blessed before, newest first
};

/// `next` as the successor of `old`: with old's reason and history behind its own, the oldest beyond kMaxHistory gone,
/// with old's rules, and with its arithmetic and responses where it has none of its own and is of the same training.
void inheritHistory(Golden& next, const Golden& old);
std::string historyLine(const Provenance& provenance);

/// Goldens that are to be written together: whole texts beside their places, renamed one after another by commit().
/// Before that, and when commit() is never reached, every place is as it was.
class GoldenFiles {
 public:
  /// Throws Error(kEnvironment).
  void add(const std::string& path, const std::string& text);
  void commit();

 private:
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

/// <root>/<scenario>/numerics/<class>.json and <root>/<scenario>/perf/<class>.json.
std::string numericsPath(const std::string& root, const std::string& scenario, const NumericsClass& key);
std::string performancePath(const std::string& root, const std::string& scenario, const PerformanceClass& key);

/// The root: `given` when not empty (must exist), else golden/data found upward from `start`. Empty when there is none.
std::string findGoldens(const std::string& given, const std::string& start);

/// The numerics goldens of a scenario, of all classes, in order of their names.
std::vector<std::string> numericsFiles(const std::string& root, const std::string& scenario);

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

/// Throws Error(kBadInput) when a run lacks what a golden needs: every step's metrics and gradient digests.
void requireComplete(const Record& run);

/// What bless() would write, and how it differs from what is there.
BlessResult previewBless(const Record& run, const std::string& root, const std::string& scenario);
/// What a golden is held against other classes by.
struct AcrossMeans {
  std::optional<Arithmetic> arithmetic;
  Responses responses;  // empty: those of the golden that was there
};

/// Writes both files atomically. Throws Error(kBadInput) when the reason is empty or the record is incomplete.
BlessResult bless(const Record& run, const std::string& root, const std::string& scenario, const Provenance& provenance,
                  const AcrossMeans& means = {}, const RunRates& runRates = {});

/// The rates of `run` and of further runs of the same build, in this order. Throws Error(kBadInput) naming a run that
/// is of another scenario or machine, or has other numbers.
RunRates ratesOf(const Record& run, const std::vector<Record>& repeats);

/// A run folder or a golden file, whichever `path` is.
Record loadRecord(const std::string& path);

}  // namespace redraft::golden
