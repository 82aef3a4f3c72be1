#include "devices/artefact_store.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"

namespace redraft::devices {
namespace {

constexpr const char* kSchema = "redraft.artefact/1";
constexpr std::size_t kMaxBytes = 64u << 20;

/// First line: schema, hash of the key, hash of the bytes. The bytes follow.
std::string headerOf(const std::string& key, std::string_view bytes) {
  return std::string(kSchema) + ' ' + hashText(key) + ' ' + hashText(bytes) + '\n';
}

std::vector<std::byte> toBytes(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

/// Empty when there is none, or none that is whole.
std::optional<std::vector<std::byte>> readStored(const std::string& path, const std::string& key) {
  if (!fileExists(path)) return std::nullopt;
  try {
    const std::string text = readFile(path, kMaxBytes);
    const std::size_t line = text.find('\n');
    if (line != std::string::npos) {
      const std::string_view bytes = std::string_view(text).substr(line + 1);
      if (text.compare(0, line + 1, headerOf(key, bytes)) == 0) return toBytes(bytes);
    }
    log(LogLevel::kWarning, path + ": not whole, or of another key; compiled again");
  } catch (const Error& error) {
    log(LogLevel::kWarning, std::string(error.what()) + "; compiled again");
  }
  return std::nullopt;
}

}  // namespace

ArtefactStore::ArtefactStore(std::string folder, std::chrono::milliseconds patience)
    : folder_(std::move(folder)), patience_(patience) {}

std::string ArtefactStore::defaultFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return joinPath(cache, "redraft/kernels");
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    throw Error(ErrorKind::kEnvironment, "HOME", "not set: no place for compiled kernels",
                "set HOME or XDG_CACHE_HOME to a folder that can be written");
  }
  return joinPath(home, ".cache/redraft/kernels");
}

std::string ArtefactStore::pathOf(const std::string& key) const { return joinPath(folder_, hashText(key) + ".cubin"); }

std::vector<std::byte> ArtefactStore::getOrMake(const std::string& key,
                                                const std::function<std::vector<std::byte>()>& make) {
  const std::string path = pathOf(key);
  if (auto stored = readStored(path, key)) return *std::move(stored);
  makeDirectories(folder_);
  const FileLock lock(path + ".lock", static_cast<int>(patience_.count()));
  if (auto stored = readStored(path, key)) return *std::move(stored);  // another process was faster
  std::vector<std::byte> made = make();
  const std::string_view bytes(reinterpret_cast<const char*>(made.data()), made.size());
  std::string whole = headerOf(key, bytes);
  whole.append(bytes);
  writeFileAtomically(path, whole);
  return made;
}

}  // namespace redraft::devices
