#pragma once
// Compiled code on disk, for processes to come: a file a key, whole or absent (temporary and rename), with a checksum.
// A file that is torn, altered or of another key is as good as none: it is compiled again and replaced.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace redraft::devices {

/// Every thread and every process may use one folder at once.
class ArtefactStore {
 public:
  /// `folder` is made on first use. `patience`: how long to wait for another process that compiles the same key.
  explicit ArtefactStore(std::string folder, std::chrono::milliseconds patience = std::chrono::seconds(60));

  /// ${XDG_CACHE_HOME:-~/.cache}/redraft/kernels.
  static std::string defaultFolder();

  /// The stored bytes of `key`, or those that `make` returns, which are then stored. `key` is all that the bytes depend
  /// on. One process at a time makes a key. Throws what `make` throws; a store that cannot be written is
  /// Error(kEnvironment).
  std::vector<std::byte> getOrMake(const std::string& key, const std::function<std::vector<std::byte>()>& make);

  std::string pathOf(const std::string& key) const;

 private:
  const std::string folder_;
  const std::chrono::milliseconds patience_;
};

}  // namespace redraft::devices
