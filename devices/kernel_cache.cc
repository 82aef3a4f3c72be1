#include "devices/kernel_cache.h"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "devices/keyed_lock.h"

namespace redraft::devices {
namespace {

constexpr const char* kNestedTracing =
    "Detected that you are using FX to symbolically trace a dynamo-optimized function. This is not supported at the "
    "moment.";

/// An image loaded once, with the entries that were asked for so far.
struct Loaded {
  Module module;
  Library library;
  Context context;  // null for a library: every context
  std::map<std::string, Function, std::less<>> entries;
};

class FlagScope {
 public:
  explicit FlagScope(TracingFlag& flag) : flag_(flag), former_(flag.exchange(true)) {}
  ~FlagScope() { flag_.exchange(former_); }
  FlagScope(const FlagScope&) = delete;
  FlagScope& operator=(const FlagScope&) = delete;

 private:
  TracingFlag& flag_;
  bool former_;
};

class NameScope {
 public:
  /// `onWait` is called before the thread waits for another one.
  template <class OnWait>
  NameScope(NamedMutexes& mutexes, const std::string& name, const char* what, std::chrono::milliseconds patience,
            OnWait onWait)
      : mutexes_(mutexes), name_(name) {
    if (!mutexes_.acquire(name_, std::chrono::milliseconds(0))) return;
    onWait();
    const auto holder = mutexes_.acquire(name_, patience);
    if (!holder) return;
    throw Error(ErrorKind::kEnvironment, "kernel cache",
                std::string(what) + " \"" + name_ + "\" is still under way in " + roleName(holder->role) + " (step " +
                    std::to_string(holder->step) + ", phase " + phaseName(holder->phase) + ") after " +
                    std::to_string(patience.count()) + " ms",
                "look at what that role is doing; a compile that waits for another role never ends");
  }
  ~NameScope() { mutexes_.release(name_); }
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  NamedMutexes& mutexes_;
  const std::string name_;
};

}  // namespace

NestedTracingError::NestedTracingError() : std::runtime_error(kNestedTracing) {}

CacheKey keyByArtefact() {
  return [](const CacheRequest& request) { return request.artefact; };
}

CacheKey keyByPassedDevice() {
  return [](const CacheRequest& request) {
    return request.artefact + "@" + (request.device ? std::to_string(*request.device) : "none");
  };
}

CacheKey keyByContext() {
  return [](const CacheRequest& request) { return request.artefact + "@context" + std::to_string(request.context.id); };
}

CacheKey keyNever() {
  return [](const CacheRequest&) { return std::string(); };
}

struct KernelCache::Impl {
  Impl(Driver& driverIn, Compiler compileIn, std::chrono::milliseconds patienceIn)
      : driver(driverIn), compile(std::move(compileIn)), patience(patienceIn) {}

  Function get(const CacheRequest& request, const std::string& entry);
  std::optional<Function> find(const CacheRequest& request, const std::string& key, const std::string& entry);
  std::shared_ptr<const Image> image(const CacheRequest& request);
  std::shared_ptr<const Image> findImage(const std::string& artefact);
  Loaded load(const CacheRequest& request, const Image& image, const std::string& entry);
  Function loadUncached(const CacheRequest& request, const Image& image, const std::string& entry);
  Function lookUp(const Loaded& loaded, const std::string& artefact, const std::string& entry);
  void unload(const Loaded& loaded);
  void clear();
  void note(CallKind kind, const CacheRequest& request, Function function, Context owner);
  int deviceOf(Context context);
  void fire(CacheEvent event, const CacheRequest& request) {
    if (hook) hook(event, request);
  }

  Driver& driver;
  const Compiler compile;
  const std::chrono::milliseconds patience;
  CacheKey key = keyByPassedDevice();
  LoadMode mode = LoadMode::kModule;
  std::unique_ptr<TracingFlag> flag = perThreadTracingFlag();
  CacheHook hook;

  std::shared_mutex mutex;  // the three tables
  std::unordered_map<std::string, std::shared_ptr<const Image>> images;
  std::unordered_map<std::string, Loaded> table;
  std::map<std::thread::id, Loaded> uncached;
  NamedMutexes compiling;
  NamedMutexes loading;
  std::atomic<std::int64_t> compiles{0}, loads{0}, hits{0};
};

Function KernelCache::Impl::get(const CacheRequest& request, const std::string& entry) {
  if (flag->isTracing()) throw NestedTracingError();
  fire(CacheEvent::kLookup, request);
  const std::string name = key(request);
  if (!name.empty()) {
    if (const auto found = find(request, name, entry)) return *found;
  }
  note(CallKind::kCacheMiss, request, {}, {});
  const auto compiled = image(request);
  if (name.empty()) return loadUncached(request, *compiled, entry);
  const NameScope scope(loading, name, "the load of", patience, [&] { fire(CacheEvent::kWait, request); });
  if (const auto found = find(request, name, entry)) return *found;
  Loaded loaded = load(request, *compiled, entry);
  const Function function = loaded.entries.at(entry);
  const std::unique_lock lock(mutex);
  table.insert_or_assign(name, std::move(loaded));
  return function;
}

std::optional<Function> KernelCache::Impl::find(const CacheRequest& request, const std::string& name,
                                                const std::string& entry) {
  Loaded loaded;  // handles only
  Function function;
  {
    const std::shared_lock lock(mutex);
    const auto slot = table.find(name);
    if (slot == table.end()) return std::nullopt;
    loaded.module = slot->second.module;
    loaded.library = slot->second.library;
    loaded.context = slot->second.context;
    const auto known = slot->second.entries.find(entry);
    if (known != slot->second.entries.end()) function = known->second;
  }
  if (!function) {  // another entry of an image that is loaded already
    function = lookUp(loaded, request.artefact, entry);
    const std::unique_lock lock(mutex);
    const auto slot = table.find(name);
    if (slot != table.end()) slot->second.entries.insert_or_assign(entry, function);
  }
  hits.fetch_add(1, std::memory_order_relaxed);
  note(CallKind::kCacheHit, request, function, loaded.context);
  fire(CacheEvent::kHit, request);
  return function;
}

std::shared_ptr<const Image> KernelCache::Impl::findImage(const std::string& artefact) {
  const std::shared_lock lock(mutex);
  const auto found = images.find(artefact);
  return found == images.end() ? nullptr : found->second;
}

std::shared_ptr<const Image> KernelCache::Impl::image(const CacheRequest& request) {
  if (auto found = findImage(request.artefact)) return found;
  const NameScope scope(compiling, request.artefact, "the compile of", patience,
                        [&] { fire(CacheEvent::kWait, request); });
  if (auto found = findImage(request.artefact)) return found;
  std::shared_ptr<const Image> made;
  {
    const FlagScope tracing(*flag);
    fire(CacheEvent::kCompileBegin, request);
    made = std::make_shared<const Image>(compile(request.artefact));
    fire(CacheEvent::kCompileEnd, request);
  }
  compiles.fetch_add(1, std::memory_order_relaxed);
  note(CallKind::kCompile, request, {}, {});
  const std::unique_lock lock(mutex);
  images.insert_or_assign(request.artefact, made);
  return made;
}

Loaded KernelCache::Impl::load(const CacheRequest& request, const Image& compiled, const std::string& entry) {
  fire(CacheEvent::kLoad, request);
  Loaded loaded;
  if (mode == LoadMode::kLibrary) {
    check(driver.loadLibrary(compiled, &loaded.library), "loadLibrary", -1, request.artefact);
  } else {
    check(driver.current(&loaded.context), "current", -1, request.artefact);
    check(driver.loadModule(compiled, &loaded.module), "loadModule", deviceOf(loaded.context), request.artefact);
  }
  loads.fetch_add(1, std::memory_order_relaxed);
  loaded.entries.emplace(entry, lookUp(loaded, request.artefact, entry));
  return loaded;
}

/// Kept until the thread's next call only, so that a handle outlives the launch that it was asked for.
Function KernelCache::Impl::loadUncached(const CacheRequest& request, const Image& compiled, const std::string& entry) {
  Loaded loaded = load(request, compiled, entry);
  const Function function = loaded.entries.at(entry);
  Loaded former;
  {
    const std::unique_lock lock(mutex);
    former = std::exchange(uncached[std::this_thread::get_id()], std::move(loaded));
  }
  unload(former);
  return function;
}

Function KernelCache::Impl::lookUp(const Loaded& loaded, const std::string& artefact, const std::string& entry) {
  Function function;
  if (loaded.library) {
    check(driver.libraryFunction(loaded.library, entry, &function), "libraryFunction", -1, artefact + ": " + entry);
  } else {
    check(driver.moduleFunction(loaded.module, entry, &function), "moduleFunction", deviceOf(loaded.context),
          artefact + ": " + entry);
  }
  return function;
}

void KernelCache::Impl::unload(const Loaded& loaded) {
  if (loaded.library) check(driver.unloadLibrary(loaded.library), "unloadLibrary", -1);
  if (loaded.module) check(driver.unloadModule(loaded.module), "unloadModule", deviceOf(loaded.context));
}

void KernelCache::Impl::clear() {
  decltype(table) handles;
  decltype(uncached) transient;
  {
    const std::unique_lock lock(mutex);
    handles.swap(table);
    transient.swap(uncached);
    images.clear();
  }
  for (const auto& [name, loaded] : handles) unload(loaded);
  for (const auto& [thread, loaded] : transient) unload(loaded);
}

void KernelCache::Impl::note(CallKind kind, const CacheRequest& request, Function function, Context owner) {
  DriverLog& log = driver.log();
  if (!log.wants(kind)) return log.skip(kind);
  LogRecord record = newLogRecord(kind);
  record.name = request.artefact;
  record.context = request.context.id;
  record.device = deviceOf(request.context);
  record.object = function.id;
  record.objectContext = owner.id;
  record.objectDevice = deviceOf(owner);
  record.detail = "passed device: " + (request.device ? std::to_string(*request.device) : "none");
  log.add(std::move(record));
}

/// -1 for no context; whoever launches in a lost context hears of it there.
int KernelCache::Impl::deviceOf(Context context) {
  int device = -1;
  if (context && driver.contextDevice(context, &device) == Status::kInvalidContext) return -1;
  return device;
}

KernelCache::KernelCache(Driver& driver, Compiler compile, std::chrono::milliseconds patience)
    : impl_(std::make_unique<Impl>(driver, std::move(compile), patience)) {}

KernelCache::~KernelCache() {
  try {
    impl_->clear();
  } catch (const DeviceError& error) {
    log(LogLevel::kDebug, std::string("unloading the kernel cache: ") + error.what());
  }
}

void KernelCache::setKey(CacheKey key) { impl_->key = std::move(key); }
void KernelCache::setLoadMode(LoadMode mode) { impl_->mode = mode; }
void KernelCache::setTracingFlag(std::unique_ptr<TracingFlag> flag) { impl_->flag = std::move(flag); }
void KernelCache::setHook(CacheHook hook) { impl_->hook = std::move(hook); }

Function KernelCache::get(const CacheRequest& request, const std::string& entry) { return impl_->get(request, entry); }

Driver& KernelCache::driver() const { return impl_->driver; }

std::int64_t KernelCache::compiles() const { return impl_->compiles.load(std::memory_order_relaxed); }
std::int64_t KernelCache::loads() const { return impl_->loads.load(std::memory_order_relaxed); }
std::int64_t KernelCache::hits() const { return impl_->hits.load(std::memory_order_relaxed); }

void KernelCache::clear() { impl_->clear(); }

}  // namespace redraft::devices
