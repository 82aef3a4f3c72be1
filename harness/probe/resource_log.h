#pragma once
// What CUPTI's records of contexts, streams and modules do not say: the thread, the time, the stack and the role that
// made them. Written in callbacks on the threads of the program.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "devices/origin.h"

namespace redraft::harness {

enum class ResourceKind : std::uint8_t { kContext, kStream, kModule, kFunction };

struct ResourceEvent {
  static constexpr std::size_t kFrames = 24;

  ResourceKind kind = ResourceKind::kContext;
  std::int64_t timeNs = 0;  // the capture's clock
  std::int64_t thread = -1;
  devices::Origin origin;
  std::int32_t context = -1, device = -1;  // CUPTI's ids; of a function: of the context that its module is in
  std::uint64_t object = 0;                // module
  const char* name = "";                   // of a function; the log's own
  std::array<void*, kFrames> frames{};
  int depth = 0;
};

/// All room is taken when the log is made. Thread-safe.
class ResourceLog {
 public:
  explicit ResourceLog(std::size_t capacity);

  /// Adds thread, time and stack. What finds no room is counted.
  void add(ResourceEvent event, std::int64_t timeNs, const char* name = nullptr);

  /// A module was loaded into a context; its functions are told by its handle.
  void moduleLoaded(const void* module, std::int32_t context);
  /// -1: a module that was loaded before the capture began.
  std::int32_t contextOfModule(const void* module) const;

  std::vector<ResourceEvent> take();
  std::int64_t lost() const;

 private:
  const char* keepName(const char* name);  // null: no room

  mutable std::mutex mutex_;
  std::vector<ResourceEvent> events_;
  std::vector<char> names_;
  std::map<const void*, std::int32_t> modules_;
  std::int64_t lost_ = 0;
};

/// "innermost < next < …" by exported names; frames of CUDA's own libraries are left out.
std::string stackText(const ResourceEvent& event);

}  // namespace redraft::harness
