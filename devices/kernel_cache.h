#pragma once
// Compiled kernels: compile once per artefact, load once per key, look up on every call. Correct use keys the loaded
// handle by device (or context) and every caller passes its device. The policy is the seam where the reported faults
// live: a key function, while what the call site passes is up to the call site.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
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
CacheKey keyNever();           // no handle is kept

enum class LoadMode { kModule, kLibrary };

/// Whether a thread is inside a compile, as FX's tracing flag is: set while tracing, tested by every call before any
/// lookup.
class TracingFlag {
 public:
  virtual ~TracingFlag() = default;
  virtual bool isTracing() const = 0;  // as seen by the calling thread
  virtual bool exchange(bool tracing) = 0;
};
std::unique_ptr<TracingFlag> perThreadTracingFlag();  // the right one

/// What torch.compile's wrapper raises when it is called while FX's tracing flag is set (torch/_dynamo/eval_frame.py).
class NestedTracingError : public std::runtime_error {
 public:
  NestedTracingError();
};

/// Called at cache events, outside the cache's locks; sync points of a schedule hang here. The tracing flag is tested
/// before kLookup, and is set from before kCompileBegin until after kCompileEnd. kWait comes before a thread waits for
/// another one's compile or load.
enum class CacheEvent { kLookup, kCompileBegin, kCompileEnd, kLoad, kHit, kWait };
using CacheHook = std::function<void(CacheEvent, const CacheRequest&)>;

class KernelCache {
 public:
  /// `compile` makes the image of an artefact. Compiles are single-flight per artefact, loads per key: a second caller
  /// waits for at most `patience`, after which Error(kEnvironment) names who compiles. A compile that throws reaches
  /// its own caller only; one that waited for it then tries itself.
  using Compiler = std::function<Image(const std::string& artefact)>;

  /// `driver` outlives the cache.
  KernelCache(Driver& driver, Compiler compile, std::chrono::milliseconds patience = std::chrono::seconds(60));
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // Set before any thread calls get(); not thread-safe.
  void setKey(CacheKey key);        // default: keyByPassedDevice
  void setLoadMode(LoadMode mode);  // default: kModule
  void setTracingFlag(std::unique_ptr<TracingFlag> flag);
  void setHook(CacheHook hook);

  /// The function `entry` of `artefact` for this call, loaded into the current context at the key's first call. Throws
  /// DeviceError when a driver call is refused, and NestedTracingError with FX's own text when the tracing flag is seen
  /// set. Valid until clear(); under keyNever, until the same thread's next get().
  Function get(const CacheRequest& request, const std::string& entry);

  /// The driver that its functions are to be launched on.
  Driver& driver() const;

  std::int64_t compiles() const;
  std::int64_t loads() const;
  std::int64_t hits() const;

  /// Unloads everything and forgets the images. Handles given out before are then invalid.
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redraft::devices
