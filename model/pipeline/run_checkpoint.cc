#include "model/pipeline/run_checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/safetensors.h"
#include "model/checkpoint.h"

namespace redraft::model {

namespace {

constexpr const char* kSchema = "redraft.checkpoint/1";
constexpr const char* kStateFile = "state.json";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kPrefix = "step-";
constexpr const char* kPartial = ".partial";
constexpr std::size_t kKept = 2;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 40;

/// Steps of a folder's name, -1 for any other name.
std::int64_t stepsOfName(const std::string& name) {
  const std::string prefix = kPrefix;
  if (name.compare(0, prefix.size(), prefix) != 0) return -1;
  std::int64_t steps = -1;
  const char* end = name.data() + name.size();
  const auto [stop, status] = std::from_chars(name.data() + prefix.size(), end, steps);
  return status == std::errc() && stop == end ? steps : -1;
}

/// Checkpoints by name alone, newest first.
std::vector<RunCheckpoint> listCheckpoints(const std::string& folder) {
  std::vector<RunCheckpoint> found;
  if (!std::filesystem::is_directory(folder)) return found;
  for (const std::string& name : listDirectory(folder)) {
    const std::int64_t steps = stepsOfName(name);
    if (steps >= 0) found.push_back({joinPath(folder, name), steps});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.steps > b.steps; });
  return found;
}

void removeAll(const std::string& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) throw Error(ErrorKind::kEnvironment, folder, "it could not be removed: " + error.message());
}

void writeOptimizer(const std::string& path, const AdamW& optimizer) {
  std::vector<at::Tensor> kept;
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : optimizer.state()) {
    kept.push_back(tensor.detach().to(at::kCPU).contiguous());
    named.push_back({name, viewOf(kept.back())});
  }
  writeSafetensors(path, named);
}

/// state.json: written last within the folder, with the hash of every other file.
void writeState(const std::string& folder, std::int64_t steps, std::int64_t optimizerSteps,
                const std::string& configuration) {
  Json state;
  state["schema"] = kSchema;
  state["steps"] = steps;
  state["optimizer_steps"] = optimizerSteps;
  state["configuration"] = configuration;
  Json files = Json::object();
  for (const std::string& name : listDirectory(folder))
    files[name] = hashText(readFile(joinPath(folder, name), kMaxFileBytes));
  state["files"] = std::move(files);
  writeFileAtomically(joinPath(folder, kStateFile), state.dump(2) + "\n");
}

/// Throws Error(kBadInput) unless the folder is a whole checkpoint; returns its configuration.
std::string verify(const RunCheckpoint& checkpoint) {
  const JsonDocument document = JsonDocument::load(joinPath(checkpoint.folder, kStateFile));
  JsonReader state(document);
  if (state.string("schema") != kSchema) state.fail("schema", "this program reads " + std::string(kSchema));
  if (state.integer("steps", 0, std::int64_t{1} << 40) != checkpoint.steps)
    state.fail("steps", "not those of the folder's name");
  state.ignore("optimizer_steps");
  std::string configuration = state.string("configuration");
  JsonReader files = state.object("files");
  for (const auto& [name, unused] : files.json().items()) {
    if (name.find('/') != std::string::npos) files.fail(name, "a file outside the folder");
    if (hashText(readFile(joinPath(checkpoint.folder, name), kMaxFileBytes)) != files.string(name)) {
      throwBadInput(joinPath(checkpoint.folder, name), "its bytes are not those that were saved");
    }
  }
  state.finish();
  return configuration;
}

}  // namespace

void saveRunCheckpoint(const std::string& folder, std::int64_t steps, const std::string& configuration,
                       const Drafter& drafter, const AdamW& optimizer, const RunRecord& record) {
  const std::string whole = joinPath(folder, kPrefix + std::to_string(steps));
  const std::string partial = whole + kPartial;
  removeAll(partial);
  makeDirectories(partial);
  saveCheckpoint(partial, drafterConfigJson(drafter.config()), drafterParameters(drafter.config()),
                 drafter.parameters());
  writeOptimizer(joinPath(partial, kOptimizerFile), optimizer);
  record.save(partial);
  writeState(partial, steps, optimizer.steps(), configuration);
  removeAll(whole);
  std::error_code error;
  std::filesystem::rename(partial, whole, error);
  if (error)
    throw Error(ErrorKind::kEnvironment, whole, "the checkpoint could not be put in place: " + error.message());
  const std::vector<RunCheckpoint> all = listCheckpoints(folder);
  for (std::size_t i = kKept; i < all.size(); ++i) removeAll(all[i].folder);
}

std::optional<RunCheckpoint> newestRunCheckpoint(const std::string& folder, const std::string& configuration) {
  for (const RunCheckpoint& checkpoint : listCheckpoints(folder)) {
    std::string found;
    try {
      found = verify(checkpoint);
    } catch (const Error& error) {
      log(LogLevel::kWarning, checkpoint.folder + " is not whole and is passed over: " + error.what());
      continue;
    }
    if (found != configuration) {
      throwBadInput(checkpoint.folder, "the checkpoint is of a run with another configuration",
                    "remove it, or run the scenario that it was made with");
    }
    return checkpoint;
  }
  return std::nullopt;
}

void loadRunCheckpoint(const RunCheckpoint& checkpoint, const Drafter& drafter, AdamW& optimizer) {
  const JsonDocument document = JsonDocument::load(joinPath(checkpoint.folder, kStateFile));
  const std::int64_t steps = JsonReader(document).integer("optimizer_steps", 0, std::int64_t{1} << 40);
  const std::string path = joinPath(checkpoint.folder, kOptimizerFile);
  const SafetensorsFile file = SafetensorsFile::open(path);
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, view] : file.tensors()) state.emplace(name, toTensor(view).to(drafter.device()));
  optimizer.load(state, steps, path);
}

}  // namespace redraft::model
