#include "golden/golden.h"

#include <sys/stat.h>

#include "base/characters.h"
#include "base/error.h"
#include "base/files.h"
#include "golden/golden_file.h"
#include "golden/quantile.h"

namespace redraft::golden {

namespace {

constexpr std::size_t kShortCommit = 12;

bool isDirectory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string parentOf(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string classFile(const std::string& root, const std::string& scenario, const char* kind, const std::string& name) {
  return joinPath(joinPath(joinPath(root, scenario), kind), name + ".json");
}

/// The golden at `path`, checked against the class and scenario that its place claims.
Golden loadChecked(const std::string& path, const std::string& scenario, const std::string& name, bool numerics) {
  Golden golden = loadGolden(path);
  const bool isNumerics = !golden.record.performanceClass.has_value();
  const std::string own = isNumerics ? golden.record.numericsClass.name() : golden.record.performanceClass->name();
  if (isNumerics != numerics || golden.record.scenario != scenario || own != name) {
    throwBadInput(path, "it holds " + own + " of " + golden.record.scenario + ", which is not what its place says",
                  "restore the file, or bless " + scenario + " again");
  }
  return golden;
}

std::vector<std::string> classesIn(const std::string& folder) {
  std::vector<std::string> names;
  if (!isDirectory(folder)) return names;
  for (const std::string& file : listDirectory(folder)) {
    if (file.size() > 5 && file.ends_with(".json")) names.push_back(file.substr(0, file.size() - 5));
  }
  return names;
}

}  // namespace

std::string numericsPath(const std::string& root, const std::string& scenario, const NumericsClass& key) {
  return classFile(root, scenario, "numerics", key.name());
}

std::string performancePath(const std::string& root, const std::string& scenario, const PerformanceClass& key) {
  return classFile(root, scenario, "perf", key.name());
}

std::string findGoldens(const std::string& given, const std::string& start) {
  if (!given.empty()) {
    if (!isDirectory(given)) throwBadInput(given, "there is no such folder of goldens", "check --goldens");
    return given;
  }
  for (std::string folder = start; !folder.empty(); folder = parentOf(folder)) {
    std::string candidate = joinPath(folder, "golden/data");
    if (isDirectory(candidate)) return candidate;
    if (folder == "/") break;
  }
  return "";
}

std::optional<Golden> findNumerics(const std::string& root, const std::string& scenario, const NumericsClass& key,
                                   std::vector<std::string>* otherClasses) {
  const std::string path = numericsPath(root, scenario, key);
  if (fileExists(path)) return loadChecked(path, scenario, key.name(), true);
  if (otherClasses != nullptr) *otherClasses = classesIn(parentOf(path));
  return std::nullopt;
}

std::vector<std::string> numericsFiles(const std::string& root, const std::string& scenario) {
  const std::string folder = joinPath(joinPath(root, scenario), "numerics");
  std::vector<std::string> files;
  for (const std::string& name : classesIn(folder)) files.push_back(joinPath(folder, name + ".json"));
  return files;
}

std::optional<Golden> findPerformance(const std::string& root, const std::string& scenario,
                                      const PerformanceClass& key) {
  const std::string path = performancePath(root, scenario, key);
  if (!fileExists(path)) return std::nullopt;
  return loadChecked(path, scenario, key.name(), false);
}

void requireComplete(const Record& run) {
  if (!run.steps.empty() && run.gradients.size() == run.steps.size()) return;
  throwBadInput(run.origin, "the run is not complete: a golden needs every step's metrics and gradient digests",
                "run the scenario to its end first");
}

BlessResult previewBless(const Record& run, const std::string& root, const std::string& scenario) {
  requireComplete(run);
  BlessResult result;
  result.numericsFile = numericsPath(root, scenario, run.numericsClass);
  if (run.performanceClass && !run.samples.empty()) {
    result.performanceFile = performancePath(root, scenario, *run.performanceClass);
  }
  const std::optional<Golden> old = findNumerics(root, scenario, run.numericsClass);
  result.isNew = !old.has_value();
  if (old) result.difference = compareNumerics(old->record, run);
  return result;
}

BlessResult bless(const Record& run, const std::string& root, const std::string& scenario, const Provenance& provenance,
                  const AcrossMeans& means, const RunRates& runRates) {
  if (isBlank(provenance.reason)) {
    throwBadInput("--reason", "a golden needs a reason", "say in a sentence why these numbers are right");
  }
  BlessResult result = previewBless(run, root, scenario);
  Golden golden{run, provenance};
  golden.record.scenario = scenario;
  golden.arithmetic = means.arithmetic;
  golden.responses = means.responses;
  golden.runRates = runRates;
  golden.provenance.accepted = "everything";
  GoldenFiles files;
  const auto add = [&](const std::string& path, std::optional<Golden> old, const auto& textOf) {
    Golden next = golden;
    if (old) inheritHistory(next, *old);
    files.add(path, textOf(next));
  };
  const std::optional<Golden> before = findNumerics(root, scenario, run.numericsClass);
  // The order of threads moves peaks: alone they are no change.
  if (before && result.difference.outcome == Outcome::kEqual) golden.record.peakBytes = before->record.peakBytes;
  add(result.numericsFile, before, numericsText);
  if (!result.performanceFile.empty())
    add(result.performanceFile, findPerformance(root, scenario, *run.performanceClass), performanceText);
  files.commit();
  return result;
}

RunRates ratesOf(const Record& run, const std::vector<Record>& repeats) {
  RunRates rates;
  const auto add = [&](const Record& one) {
    for (const auto& [role, samples] : run.samples) {
      const auto own = one.samples.find(role);
      if (own == one.samples.end() || own->second.tokensPerSecond.empty())
        throwBadInput(one.origin, "holds no throughput of " + role, "name another run");
      rates[role].push_back(medianOf(own->second.tokensPerSecond));
    }
  };
  add(run);
  for (const Record& repeat : repeats) {
    if (repeat.scenario != run.scenario || !(repeat.performanceClass == run.performanceClass))
      throwBadInput(repeat.origin, "is of another scenario or machine than " + run.origin, "name runs of the same");
    if (compareNumerics(run, repeat).outcome != Outcome::kEqual)
      throwBadInput(repeat.origin, "has other numbers than " + run.origin + ": it ran other code",
                    "name runs of one build");
    add(repeat);
  }
  return rates;
}

void inheritHistory(Golden& next, const Golden& old) {
  next.history = {historyLine(old.provenance)};
  next.history.insert(next.history.end(), old.history.begin(), old.history.end());
  if (next.history.size() > kMaxHistory) next.history.resize(kMaxHistory);
  if (next.rules.empty()) next.rules = old.rules;
  const bool sameTraining =
      next.record.parameters == old.record.parameters && next.record.steps.size() == old.record.steps.size();
  if (!sameTraining) return;
  if (!next.arithmetic) next.arithmetic = old.arithmetic;
  if (next.responses.empty()) next.responses = old.responses;
}

std::string historyLine(const Provenance& provenance) {
  return provenance.date + " " + provenance.commit.substr(0, kShortCommit) + " " + provenance.reason;
}

void GoldenFiles::add(const std::string& path, const std::string& text) {
  makeDirectories(parentOf(path));
  files_.push_back(std::make_unique<AtomicFile>(path));
  files_.back()->write(text);
}

void GoldenFiles::commit() {
  for (const auto& file : files_) file->commit();
  files_.clear();
}

Record loadRecord(const std::string& path) { return isDirectory(path) ? loadRun(path) : loadGolden(path).record; }

}  // namespace redraft::golden
