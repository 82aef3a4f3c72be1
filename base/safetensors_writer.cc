#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "base/internal/safetensors_header.h"
#include "base/json.h"
#include "base/safetensors.h"

namespace redraft {
namespace {

void checkTensors(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const auto& [name, view] : tensors) {
    std::uint64_t bytes = 0;
    REDRAFT_CHECK(internal::tensorBytes(view.dtype, view.shape, &bytes) && bytes == view.bytes,
                  "safetensors: the bytes of \"" + name + "\" do not fit its shape");
    REDRAFT_CHECK(name != internal::kMetadataKey && names.insert(name).second,
                  "safetensors: tensor name \"" + name + "\" is reserved or used twice");
  }
}

std::string headerOf(std::span<const NamedTensor> tensors, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  auto& members = header.get_ref<Json::object_t&>();
  if (!metadata.empty()) members.emplace_back(std::string(internal::kMetadataKey), Json(metadata));
  std::uint64_t offset = 0;
  for (const auto& [name, view] : tensors) {
    members.emplace_back(
        name,
        Json{{"dtype", dtypeName(view.dtype)}, {"shape", view.shape}, {"data_offsets", {offset, offset + view.bytes}}});
    offset += view.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

void writeTensors(const std::string& path, std::span<const NamedTensor> tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::string header;
  try {
    header = headerOf(tensors, metadata);
  } catch (const Json::type_error& error) {
    throwBadInput(path, std::string("a tensor's name or the metadata are not UTF-8: ") + error.what());
  }
  unsigned char length[internal::kLengthBytes];
  for (std::size_t i = 0; i < sizeof length; ++i) length[i] = static_cast<unsigned char>(header.size() >> (8 * i));
  AtomicFile file(path);
  file.write(length, sizeof length);
  file.write(header);
  for (const NamedTensor& tensor : tensors) file.write(tensor.view.data, tensor.view.bytes);
  file.commit();
}

/// Where each shard begins, and the end.
std::vector<std::size_t> cutShards(std::span<const NamedTensor> tensors, std::size_t maxShardBytes) {
  std::vector<std::size_t> cuts{0};
  std::size_t filled = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t bytes = tensors[i].view.bytes;
    if (i > cuts.back() && (filled > maxShardBytes || bytes > maxShardBytes - filled)) {
      cuts.push_back(i);
      filled = 0;
    }
    filled += bytes;
  }
  cuts.push_back(tensors.size());
  return cuts;
}

}  // namespace

void writeSafetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  checkTensors(tensors);
  writeTensors(path, tensors, metadata);
}

void writeShardedSafetensors(const std::string& folder, const std::vector<NamedTensor>& tensors,
                             std::size_t maxShardBytes) {
  checkTensors(tensors);
  const std::string indexPath = joinPath(folder, "model.safetensors.index.json");
  if (::unlink(indexPath.c_str()) != 0 && errno != ENOENT) {
    throw Error(ErrorKind::kEnvironment, indexPath,
                std::string("cannot remove the old index: ") + std::strerror(errno));
  }
  const std::vector<std::size_t> cuts = cutShards(tensors, maxShardBytes);
  const std::size_t count = cuts.size() - 1;
  Json weightMap = Json::object();
  auto& members = weightMap.get_ref<Json::object_t&>();
  std::uint64_t totalBytes = 0;
  for (std::size_t shard = 0; shard < count; ++shard) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", shard + 1, count);
    const auto part = std::span(tensors).subspan(cuts[shard], cuts[shard + 1] - cuts[shard]);
    writeTensors(joinPath(folder, name), part, {{"format", "pt"}});
    for (const NamedTensor& tensor : part) {
      members.emplace_back(tensor.name, name);
      totalBytes += tensor.view.bytes;
    }
  }
  const Json index{{"metadata", {{"total_size", totalBytes}}}, {"weight_map", weightMap}};
  writeFileAtomically(indexPath, index.dump(2) + "\n");
}

}  // namespace redraft
