#include <sys/stat.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/internal/safetensors_header.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "base/text.h"

namespace redraft {
namespace {

constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";

bool isFolder(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string fileOf(const std::string& path) {
  if (!isFolder(path)) return path;
  const std::string single = joinPath(path, kSingleName), index = joinPath(path, kIndexName);
  const bool hasSingle = fileExists(single), hasIndex = fileExists(index);
  if (hasSingle && hasIndex)
    throwBadInput(path, "holds both model.safetensors and an index", "name one of the two files");
  if (!hasSingle && !hasIndex) {
    throwBadInput(path, std::string("holds neither ") + kSingleName + " nor " + kIndexName, "name a checkpoint");
  }
  return hasSingle ? single : index;
}

bool isPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

/// Tensor name → shard name, as the index says.
std::map<std::string, std::string> readWeightMap(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path, JsonDocument::Comments::kRefuse);
  JsonReader index(document);
  index.ignore("metadata");
  const JsonReader weights = index.object("weight_map");
  std::map<std::string, std::string> shards;
  for (const auto& [name, shard] : weights.json().items()) {
    if (!shard.is_string()) weights.fail(name, "expected a shard's file name", "write the index again");
    const auto& file = shard.get_ref<const std::string&>();
    if (!isPlainName(file)) {
      weights.fail(name, "\"" + printable(file) + "\" is not the name of a file beside the index", "name a file there");
    }
    shards.emplace(name, file);
  }
  return shards;
}

std::string folderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

SafetensorsCheckpoint SafetensorsCheckpoint::open(const std::string& path) {
  SafetensorsCheckpoint checkpoint;
  const std::string file = fileOf(path);
  checkpoint.path_ = file;
  if (!file.ends_with(".json")) {
    checkpoint.files_.push_back(SafetensorsFile::open(file));
    for (const auto& [name, view] : checkpoint.files_.front().tensors()) checkpoint.where_.emplace(name, 0);
    return checkpoint;
  }
  const std::map<std::string, std::string> weightMap = readWeightMap(file);
  std::map<std::string, std::size_t> shards, owners;
  for (const auto& [tensor, shard] : weightMap) {
    if (!shards.try_emplace(shard, checkpoint.files_.size()).second) continue;
    checkpoint.files_.push_back(SafetensorsFile::open(joinPath(folderOf(file), shard)));
    for (const auto& [name, view] : checkpoint.files_.back().tensors()) {
      const auto [owner, isNew] = owners.emplace(name, checkpoint.files_.size() - 1);
      if (isNew) continue;
      throwBadInput(file,
                    "tensor \"" + printable(name) + "\" is in two shards: " + checkpoint.files_[owner->second].path() +
                        " and " + checkpoint.files_.back().path(),
                    "remove the shard that is left over from another checkpoint");
    }
  }
  for (const auto& [tensor, shard] : weightMap) {
    const std::size_t index = shards.at(shard);
    if (!checkpoint.files_[index].has(tensor)) {
      throwBadInput(file, "tensor \"" + printable(tensor) + "\" is not in its shard " + printable(shard),
                    "copy the index and the shards of one checkpoint");
    }
    checkpoint.where_.emplace(tensor, index);
  }
  return checkpoint;
}

bool SafetensorsCheckpoint::has(const std::string& name) const { return where_.count(name) > 0; }

const TensorView& SafetensorsCheckpoint::at(const std::string& name) const {
  const auto found = where_.find(name);
  if (found == where_.end()) internal::throwNoTensor(path_, name, names());
  return files_[found->second].at(name);
}

std::vector<std::string> SafetensorsCheckpoint::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : where_) names.push_back(name);
  return names;
}

}  // namespace redraft
