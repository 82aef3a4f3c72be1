#pragma once
// The simulated driver's state. Its calls are spread over sim_contexts, sim_code, sim_streams, sim_work, sim_peers and
// sim_memory (.cc).
// Every call follows one pattern: refuse when poisoned, look its handles up, decide the status, finish() with a log
// record.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "devices/sim/address_map.h"
#include "devices/sim/race_check.h"
#include "devices/sim/sim_driver.h"
#include "devices/sim/sim_objects.h"
#include "devices/sim/work_times.h"

namespace redraft::devices {

/// The slot that keeps a thread's current context in one driver. Lock-free.
ContextState*& threadContext(std::uint64_t driverSerial);

class SimDriverImpl final : public SimDriver {
 public:
  explicit SimDriverImpl(SimOptions options);
  ~SimDriverImpl() override;

  const char* backend() const override { return "sim"; }
  int deviceCount() const override { return options_.topology.deviceCount; }

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

  Status adoptMemory(const void* pointer, std::size_t bytes, int device) override;
  Status releaseMemory(const void* pointer) override;
  Status registerHost(const void* pointer, std::size_t bytes) override;
  Status unregisterHost(const void* pointer) override;
  void publish(HostMark& mark) override;
  void observe(const HostMark& mark) override;
  void noteWork(Stream stream, const char* name, std::span<const MemoryTouch> touches) override;
  std::vector<RoleMemory> roleMemory() const override;
  bool poisoned() const override { return poisoned_.load(std::memory_order_acquire); }
  void setWorkSink(WorkSink sink) { workSink_ = std::move(sink); }

 private:
  struct NoFill {
    void operator()(LogRecord&) const {}
  };
  /// What a call found out: a status, and why when it is a refusal.
  struct Verdict {
    Status status = Status::kSuccess;
    std::string why = {};
    bool refused() const { return status != Status::kSuccess; }
  };
  struct alignas(64) DeviceState {
    std::atomic<std::int64_t> live{0}, peak{0}, segments{0}, allocations{0};
    std::atomic<ContextState*> primary{nullptr};
  };
  struct RoleCount {
    std::atomic<std::int64_t> bytes{0}, allocations{0};
  };
  /// One side of a copy.
  struct Place {
    int device = -1;
    bool traced = false;
    Address begin = 0;
  };
  /// Where a launch's touches lie.
  struct Reach {
    std::vector<ForeignTouch> foreign;
    std::string illegal;  // the first touch that faults; empty: none
  };

  // Every call ends here. `fill` adds to the record, and is not called when nothing is kept.
  template <class Fill = NoFill>
  Status finish(CallKind kind, Status status, Fill&& fill = {}) {
    if (status == Status::kSuccess && !log_->wants(kind)) {
      log_->skip(kind);
      return status;
    }
    LogRecord record = startRecord(kind, status);
    fill(record);
    return keep(std::move(record));
  }
  Status finish(CallKind kind, Verdict verdict, const std::string& name = "", std::uint64_t object = 0);
  LogRecord startRecord(CallKind kind, Status status);
  Status keep(LogRecord record);
  Verdict poison() const;

  // sim_contexts.cc
  ContextState* contextState(Context context) const;
  ContextState* addContext(int device, bool primary);
  Verdict needCurrent(ContextState** context);
  bool validDevice(int device) const { return device >= 0 && device < deviceCount(); }

  // sim_code.cc
  Verdict load(const Image& image, ContextState* context, std::shared_ptr<CodeState>* code);
  Status unload(CallKind kind, const std::shared_ptr<CodeState>& code, std::uint64_t id);
  Status findFunction(const std::shared_ptr<CodeState>& code, std::uint64_t id, const std::string& name,
                      Function* function);

  // sim_streams.cc
  std::shared_ptr<const StreamState> makeStream(ContextState* context);
  Verdict findStream(Stream stream, std::shared_ptr<const StreamState>* found);
  Verdict findEvent(Event event, std::shared_ptr<EventState>* found) const;
  Status waitForStream(CallKind kind, Stream stream);
  Status waitForEvent(CallKind kind, Event event);
  /// A synchronisation: a fault that is pending surfaces here, and poisons the process.
  Verdict settle();

  // sim_work.cc
  template <class Work>
  void timed(const Work& work) const;
  Verdict checkLaunch(const FunctionState* function, const LaunchShape& shape, const StreamState& stream) const;
  Reach reach(const std::vector<MemoryTouch>& touches, int device);
  void fault(const std::string& what, ContextState& context);
  void checkRaces(const StreamState& stream, const std::string& name, std::span<const MemoryTouch> touches);
  void checkCopyRaces(const StreamState& stream, const MemoryTouch& read, const Place& from, const MemoryTouch& written,
                      const Place& to);
  Verdict placeOf(const void* pointer, std::size_t bytes, const char* side, Place* place) const;
  bool peerEnabled(int from, int to) const { return peers_[peerIndex(from, to)].load(std::memory_order_acquire); }
  std::size_t peerIndex(int from, int to) const { return static_cast<std::size_t>(from) * deviceCount() + to; }

  // sim_peers.cc
  Verdict checkPeers(int from, int to) const;
  Status finishPeers(Verdict verdict, const char* what, int from, int to);

  // sim_memory.cc
  Verdict reserve(int device, std::size_t bytes);
  void unreserve(int device, std::size_t bytes);
  void countRole(int device, std::size_t bytes);
  void forget(Address begin, const Allocation& allocation);
  void drop(const AddressMap::Found& found);

  std::uint64_t nextId() { return (serial_ << 32) | nextObject_.fetch_add(1, std::memory_order_relaxed); }

  static constexpr std::size_t kRoles = 256;

  const SimOptions options_;
  const std::uint64_t serial_;  // of this driver in the process; the upper half of every handle
  std::unique_ptr<DriverLog> log_;
  WorkSink workSink_;
  std::vector<DeviceState> devices_;
  std::vector<std::atomic<bool>> peers_;
  std::vector<RoleCount> roles_;  // role-major

  ContextTable contexts_;
  std::mutex contextMutex_;  // creation
  std::uint64_t nextContext_ = 1;
  std::atomic<std::uint64_t> nextObject_{ContextTable::kCapacity};

  Registry<const StreamState> streams_;
  Registry<EventState> events_;
  Registry<CodeState> code_;
  Registry<const FunctionState> functions_;
  AddressMap memory_;
  RaceCheck races_;

  std::atomic<bool> pendingFault_{false};
  std::atomic<bool> notesWork_{false};  // ranges of every allocation may be known to the race check
  std::atomic<bool> poisoned_{false};
  mutable std::mutex faultMutex_;
  std::string firstFault_;
};

}  // namespace redraft::devices
