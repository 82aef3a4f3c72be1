#pragma once
// NVRTC, CUDA's run-time compiler: CUDA C++ to a cubin for one architecture. The library is looked up at run time,
// needs neither a GPU nor a driver, and its entry points are declared here, so that no toolkit is needed to build.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redraft::devices {

class ArtefactStore;

/// What is compiled. `headers` are (name as included, text); nothing else can be included.
struct GpuSource {
  std::string name, text;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> options;  // without the architecture
};

struct Cubin {
  std::vector<std::byte> bytes;
  std::string log;  // of compiler and assembler: registers and spills of each entry
};

/// Every thread may call. Opened once and kept.
class Nvrtc {
 public:
  /// Throws Error(kEnvironment) with the remedy when there is no libnvrtc.so.13.
  static const Nvrtc& open();
  /// Why open() would throw, or "" when it would not.
  static std::string whyNone();

  std::string version() const;             // "13.0"
  std::vector<int> architectures() const;  // 10 · major + minor, ascending
  /// `architecture` as above. Throws Error(kBadInput) with the compiler's log when the source does not compile, and
  /// when the architecture is not one of them.
  Cubin compile(const GpuSource& source, int architecture) const;
  /// All that a cubin depends on: source, headers, options, architecture, version. For an ArtefactStore.
  std::string keyOf(const GpuSource& source, int architecture) const;
  /// The cubin from `store`, compiled and put there where it has none. Throws as compile().
  std::vector<std::byte> compiledFrom(ArtefactStore& store, const GpuSource& source, int architecture) const;

 private:
  Nvrtc();
  struct Api;
  const Api* api_;
};

}  // namespace redraft::devices
