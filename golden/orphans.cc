#include "golden/orphans.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/characters.h"
#include "base/error.h"
#include "base/json.h"
#include "golden/golden_file.h"
#include "golden/values.h"

namespace redraft::golden {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPruned = "pruned.jsonl";
constexpr std::size_t kMaxPruned = 200;

/// ROOT/<scenario>/{numerics,perf}/<class>.json → <scenario>; "" for any other file.
std::string scenarioOf(const fs::path& root, const fs::path& file) {
  const std::string kind = file.parent_path().filename().string();
  if (file.extension() != ".json" || (kind != "numerics" && kind != "perf")) return "";
  return file.parent_path().parent_path().lexically_relative(root).string();
}

std::vector<fs::path> goldensUnder(const fs::path& root) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file() && !scenarioOf(root, entry.path()).empty()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Keys that no run of these has.
std::vector<std::string> deadKeys(const Record& record, const GoldenUser& user) {
  std::vector<std::string> keys;
  for (const Value& value : valuesOf(record)) {
    const KeyParts parts = partsOf(value.key);
    const bool tooLate = parts.step && *parts.step >= user.steps;
    const bool notEvaluated = parts.name.starts_with("evaluation/") && !user.evaluates;
    if (tooLate || notEvaluated) keys.push_back(value.key);
  }
  return keys;
}

std::string whyDead(const std::vector<std::string>& keys) {
  return std::to_string(keys.size()) + (keys.size() == 1 ? " value" : " values") +
         " that no run of it has any more: " + keys.front() + (keys.size() > 1 ? " to " + keys.back() : "");
}

void note(const std::string& root, const Orphan& orphan, const PruneNote& why) {
  const std::string path = joinPath(root, kPruned);
  std::vector<std::string> lines = fileExists(path) ? readLines(path) : std::vector<std::string>();
  const Json line = {{"date", why.date},
                     {"commit", why.commit},
                     {"golden", fs::path(orphan.file).lexically_relative(root).string()},
                     {"keys", orphan.keys.size()},
                     {"why", orphan.why},
                     {"reason", why.reason}};
  lines.push_back(line.dump());
  if (lines.size() > kMaxPruned) lines.erase(lines.begin(), lines.end() - kMaxPruned);
  std::string text;
  for (const std::string& each : lines) text += each + "\n";
  writeFileAtomically(path, text);
}

void removeFile(const fs::path& root, const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  if (error) throw Error(ErrorKind::kEnvironment, file.string(), "cannot be removed: " + error.message());
  for (fs::path folder = file.parent_path(); folder != root && fs::is_empty(folder, error) && !error;
       folder = folder.parent_path())
    fs::remove(folder, error);
}

void removeKeys(const Orphan& orphan, const PruneNote& why) {
  Golden golden = loadGolden(orphan.file);
  std::vector<Value> values = valuesOf(golden.record);
  std::erase_if(values, [&](const Value& value) {
    return std::find(orphan.keys.begin(), orphan.keys.end(), value.key) != orphan.keys.end();
  });
  setValues(values, golden.record);
  golden.history.insert(golden.history.begin(), why.date + " " + why.commit + " pruned: " + why.reason);
  if (golden.history.size() > kMaxHistory) golden.history.resize(kMaxHistory);
  writeFileAtomically(orphan.file, numericsText(golden));
}

}  // namespace

std::vector<Orphan> findOrphans(const std::string& root, const std::map<std::string, GoldenUser>& users) {
  std::vector<Orphan> orphans;
  for (const fs::path& file : goldensUnder(root)) {
    const std::string scenario = scenarioOf(root, file);
    const auto user = users.find(scenario);
    if (user == users.end()) {
      orphans.push_back({file.string(), scenario, {}, "no scenario is compared with a golden of this name"});
      continue;
    }
    if (file.parent_path().filename() != "numerics" || user->second.steps == 0) continue;
    const std::vector<std::string> dead = deadKeys(loadGolden(file.string()).record, user->second);
    if (!dead.empty()) orphans.push_back({file.string(), scenario, dead, whyDead(dead)});
  }
  return orphans;
}

void prune(const std::string& root, const Orphan& orphan, const PruneNote& why) {
  if (isBlank(why.reason))
    throwBadInput("--reason", "taking a golden away needs a reason", "say in a sentence why it is of no use");
  if (orphan.keys.empty())
    removeFile(root, orphan.file);
  else
    removeKeys(orphan, why);
  note(root, orphan, why);
}

}  // namespace redraft::golden
