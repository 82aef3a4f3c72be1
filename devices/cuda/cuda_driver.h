#pragma once
// devices::Driver over CUDA's driver API. Handles are numbers of ours, so that one is never reused; tables map them to
// CUDA's and remember the context that each belongs to, for the log. A refused call keeps CUDA's own number as its
// Status.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "devices/cuda/cuda_api.h"
#include "devices/cuda/cuda_host.h"

namespace redraft::devices {

/// id → value, for many readers.
template <class Value>
class HandleTable {
 public:
  void add(std::uint64_t id, Value value) {
    const std::unique_lock lock(mutex_);
    values_.emplace(id, std::move(value));
  }
  std::optional<Value> find(std::uint64_t id) const {
    const std::shared_lock lock(mutex_);
    const auto found = values_.find(id);
    return found == values_.end() ? std::nullopt : std::optional<Value>(found->second);
  }
  std::optional<Value> take(std::uint64_t id) {
    const std::unique_lock lock(mutex_);
    const auto found = values_.find(id);
    if (found == values_.end()) return std::nullopt;
    std::optional<Value> value(std::move(found->second));
    values_.erase(found);
    return value;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint64_t, Value> values_;
};

class CudaDriver final : public Driver {
 public:
  CudaDriver(const CudaHost& host, CudaOptions options) : host_(host), options_(std::move(options)) {}

  /// Looks the driver up and counts devices. False with the reason when there is none.
  bool start(std::string& error);

  const char* backend() const override { return "cuda"; }
  int deviceCount() const override { return static_cast<int>(memory_.size()); }
  Status architecture(int device, int* version);

  Status primaryContext(int device, Context* context) override;
  Status createContext(int device, Context* context) override;
  Status destroyContext(Context context) override;
  Status setCurrent(Context context) override;
  Status current(Context* context) override;
  Status contextDevice(Context context, int* device) override;

  Status loadModule(const Image& image, Module* module) override;
  Status unloadModule(Module module) override;
  Status moduleFunction(Module module, const std::string& name, Function* function) override;
  Status loadLibrary(const Image& image, Library* library) override;
  Status unloadLibrary(Library library) override;
  Status libraryFunction(Library library, const std::string& name, Function* function) override;

  Status createStream(Stream* stream) override;
  Status destroyStream(Stream stream) override;
  Status adoptStream(void* native, Stream* stream) override;
  Status greenStreams(int device, int count, std::vector<GreenStream>* streams) override;
  Status synchronizeStream(Stream stream) override;
  Status queryStream(Stream stream) override;
  Status waitEvent(Stream stream, Event event) override;
  Status createEvent(Event* event) override;
  Status destroyEvent(Event event) override;
  Status recordEvent(Event event, Stream stream) override;
  Status queryEvent(Event event) override;
  Status synchronizeEvent(Event event) override;
  Status elapsedMillis(Event start, Event end, float* millis) override;
  Status synchronizeContext() override;

  Status launch(Function function, const LaunchShape& shape, Stream stream, const LaunchArguments& arguments) override;

  Status allocate(std::size_t bytes, void** pointer) override;
  Status free(void* pointer) override;
  Status pointerDevice(const void* pointer, int* device) override;
  Status copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;
  Status memoryInfo(int device, MemoryInfo* info) override;
  Status resetPeak(int device) override;

  Status canAccessPeer(int from, int to, bool* can) override;
  Status enablePeerAccess(int from, int to) override;
  Status disablePeerAccess(int from, int to) override;

  DriverLog& log() override { return *log_; }

 private:
  struct ContextEntry {
    CUcontext handle = nullptr;
    int device = -1;
    bool primary = false;
  };
  /// A CUDA object and our id of the context that it belongs to (0: every context).
  template <class Handle>
  struct Owned {
    Handle handle{};
    std::uint64_t context = 0;
    std::string name;
    bool adopted = false;  // a stream that is not ours to destroy
  };

  struct NoFill {
    void operator()(LogRecord&) const {}
  };
  /// Every call ends here: CUDA's result becomes the status, and a record where the log wants one or the call was
  /// refused.
  template <class Fill = NoFill>
  Status finish(CallKind kind, CUresult result, Fill&& fill = {}) {
    const auto status = static_cast<Status>(result);
    if (status == Status::kSuccess && !log_->wants(kind)) {
      log_->skip(kind);
      return status;
    }
    LogRecord record = startRecord(kind, status);
    fill(record);
    if (status != Status::kSuccess) host_.noteRefusal(status, record.detail);
    log_->add(std::move(record));
    return status;
  }
  LogRecord startRecord(CallKind kind, Status status);
  void fillOwner(LogRecord& record, std::uint64_t object, std::uint64_t context) const;

  std::uint64_t nextId() { return next_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t addContext(ContextEntry entry);
  std::uint64_t currentId();  // 0: none, or one that is neither ours nor a primary one
  std::uint64_t contextOf(CUcontext handle);
  bool isActivePrimary(CUcontext handle, int* device) const;
  int deviceOf(std::uint64_t context) const;
  /// CUDA's stream of a handle; null handle: the default stream. nullopt: no such stream.
  std::optional<CUstream> streamOf(Stream stream) const;
  std::vector<ForeignTouch> foreignTouches(const std::vector<MemoryTouch>& touches, int device) const;
  int pointerOrdinal(const void* pointer) const;  // -1: the host
  bool validDevice(int device) const { return device >= 0 && device < deviceCount(); }
  void account(int device, std::int64_t bytes);
  CUresult greenStream(const CUdevResource& share, int device, GreenStream* stream);
  CUresult allowShared(const Owned<CUfunction>& function, std::uint64_t id, unsigned bytes);
  CUresult peerCall(int from, int to, bool enable);

  const CudaHost host_;
  const CudaOptions options_;
  CudaApi api_;
  std::unique_ptr<DriverLog> log_;
  std::atomic<std::uint64_t> next_{1};

  mutable std::mutex contextMutex_;
  std::map<CUcontext, std::uint64_t> contextIds_;
  std::map<int, std::uint64_t> primaries_;
  HandleTable<ContextEntry> contexts_;
  std::mutex adoptedMutex_;
  std::map<unsigned long long, std::uint64_t> adopted_;  // cuStreamGetId, unique in the process → our id
  HandleTable<Owned<CUstream>> streams_;
  HandleTable<Owned<CUevent>> events_;
  HandleTable<Owned<CUmodule>> modules_;
  HandleTable<Owned<CUlibrary>> libraries_;
  HandleTable<Owned<CUfunction>> functions_;
  HandleTable<std::pair<std::int64_t, int>> allocations_;  // address → bytes, device

  std::mutex sharedMutex_;
  std::map<std::pair<std::uint64_t, int>, unsigned> sharedBytes_;  // function, device → what it was allowed

  mutable std::mutex memoryMutex_;
  std::vector<MemoryInfo> memory_;
};

}  // namespace redraft::devices
