#pragma once
// Compiled kernels: compile once per artefact, load once per key, look up on every call. Correct use keys the loaded handle
// by device (or context) and every caller passes its device. The policy is the seam where the reported faults live: a key
// function, while what the call site passes is up to the call site.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "devices/driver.h"

namespace redraft::devices {

/// What is known at a call.
struct CacheRequest {
  std::string artefact;       // specialisation: "attention_forward/d64/full/f32/b16"
  std::optional<int> device;  // what the call site passed; empty when it passes none
  Context context;            // current on the calling thread
};

/// Key under which the loaded handle is kept. An empty string: not cached, loaded on every call.
using CacheKey = std::function<std::string(const CacheRequest&)>;

CacheKey keyByArtefact();      // one handle for the process: the singleton
CacheKey keyByPassedDevice();  // artefact + passed device ("none" when the call site passes none)
CacheKey keyByContext();       // artefact + current context
CacheKey keyNever();           // nothing is kept

enum class LoadMode { kModule, kLibrary };

/// Whether a thread is inside a compile, as FX's tracing flag is: set while tracing, tested by every call before any lookup.
class TracingFlag {
 public:
  virtual ~TracingFlag() = default;
  virtual bool isTracing() const = 0;  // as seen by the calling thread
  virtual bool exchange(bool tracing) = 0;
};
std::unique_ptr<TracingFlag> perThreadTracingFlag();  // the right one

/// Called at cache events, outside the cache's locks; sync points of a schedule hang here.
enum class CacheEvent { kLookup, kCompileBegin, kCompileEnd, kLoad, kHit };
using CacheHook = std::function<void(CacheEvent, const CacheRequest&)>;

class KernelCache {
 public:
  /// `compile` makes the image of an artefact. Compiles are single-flight per artefact: a second caller waits, with a
  /// time-out of 60 s, after which Error(kEnvironment) names who compiles.
  using Compiler = std::function<Image(const std::string& artefact)>;

  KernelCache(Driver& driver, Compiler compile);
  ~KernelCache();

  // Set before any thread calls get(); not thread-safe.
  void setKey(CacheKey key);        // default: keyByPassedDevice
  void setLoadMode(LoadMode mode);  // default: kModule
  void setTracingFlag(std::unique_ptr<TracingFlag> flag);
  void setHook(CacheHook hook);

  /// The function `entry` of `artefact` for this call. Throws DeviceError when a driver call is refused, and
  /// NestedTracingError with FX's own text when the tracing flag is seen set.
  Function get(const CacheRequest& request, const std::string& entry);

  std::int64_t compiles() const;
  std::int64_t loads() const;
  std::int64_t hits() const;

  /// Unloads everything. Handles given out before are then invalid.
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redraft::devices
