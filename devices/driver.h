#pragma once
// The narrow driver interface: contexts, modules, functions, streams, events, launches, copies, peer access and memory,
// shaped like CUDA's driver API, with the rules that two H200s showed. Implemented by devices/sim here, and for CUDA by
// a library loaded at run time. Every call is safe from any thread; the current context is per thread.
//
// Rules (CUDA Programming Guide, "Multi-device"; measured):
//   - A Module and its Functions belong to the context that was current at load. Launching a Function on a stream of
//     another context is kInvalidHandle (400); nothing runs, nothing sticks. A Library's functions work in every
//     context.
//   - Recording an event of one context on a stream of another is 400; waiting for it there is allowed.
//   - A call that needs a current context and finds none is kInvalidContext (201).
//   - A kernel that touches another device's memory without peer access: the launch succeeds, the next synchronisation
//     returns kIllegalAddress (700), and from then on every call of the process, on every device, returns 700. With
//     peer access on it is silent: only the log shows it.
//   - On a poisoned process free() still frees, setCurrent() still binds, and queries still fill in their answer, so
//     that unwinding works; they return 700 all the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "devices/driver_log.h"
#include "devices/status.h"

namespace redraft::devices {

template <class Tag>
struct Handle {
  std::uint64_t id = 0;  // 0 is null; never reused within a process
  explicit operator bool() const { return id != 0; }
  auto operator<=>(const Handle&) const = default;
};
using Context = Handle<struct ContextTag>;
using Stream = Handle<struct StreamTag>;  // null: the default stream of the current context
using Event = Handle<struct EventTag>;
using Module = Handle<struct ModuleTag>;
using Library = Handle<struct LibraryTag>;
using Function = Handle<struct FunctionTag>;

/// What a kernel touches. The simulator checks every range against its allocations; the log keeps the name.
struct MemoryTouch {
  const char* name = "";  // static storage: "q", "block_mask.indices"
  const void* pointer = nullptr;
  std::size_t bytes = 0;
  bool written = false;
};

/// `params` as CUDA's kernelParams: addresses of the argument values, alive until launch() returns.
struct LaunchArguments {
  std::vector<void*> params;
  std::vector<MemoryTouch> touches;
};

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
};

/// A kernel of the simulator: runs on the calling thread, may use at::parallel_for inside.
using HostKernel = void (*)(void** params);

/// What a compiler produced: a cubin for CUDA, or host entry points for the simulator. Copyable and immutable.
struct Image {
  std::string name;  // artefact key, for the log
  std::vector<std::byte> cubin;
  std::vector<std::pair<std::string, HostKernel>> hostKernels;
};

/// A stream of a green context: it has some of the device's multiprocessors to itself.
struct GreenStream {
  void* native = nullptr;  // as adoptStream() takes it
  int multiprocessors = 0;
};

struct MemoryInfo {
  std::int64_t live = 0;         // bytes
  std::int64_t peak = 0;         // bytes, since the last resetPeak
  std::int64_t segments = 0;     // live allocations
  std::int64_t allocations = 0;  // allocations ever
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual const char* backend() const = 0;  // "sim" or "cuda"
  virtual int deviceCount() const = 0;

  // Contexts. The primary context of a device exists after the first call for it.
  virtual Status primaryContext(int device, Context* context) = 0;
  virtual Status createContext(int device, Context* context) = 0;
  virtual Status destroyContext(Context context) = 0;
  virtual Status setCurrent(Context context) = 0;  // null unbinds
  /// Null when none is bound. A primary context that somebody else bound (LibTorch) is the device's primaryContext().
  virtual Status current(Context* context) = 0;
  virtual Status contextDevice(Context context, int* device) = 0;

  // Code.
  virtual Status loadModule(const Image& image, Module* module) = 0;  // into the current context
  virtual Status unloadModule(Module module) = 0;
  virtual Status moduleFunction(Module module, const std::string& name, Function* function) = 0;
  virtual Status loadLibrary(const Image& image, Library* library) = 0;  // no context
  virtual Status unloadLibrary(Library library) = 0;
  virtual Status libraryFunction(Library library, const std::string& name, Function* function) = 0;

  // Streams and events belong to the context that was current at creation.
  virtual Status createStream(Stream* stream) = 0;
  virtual Status destroyStream(Stream stream) = 0;
  /// Names a stream that somebody else made (LibTorch's) and destroys: the same stream, the same name. `native` is what
  /// c10's getStreamNativeHandle() gives: on cuda a CUstream, on sim the stream's id. Null: the default stream, a null
  /// handle. destroyStream() refuses such a one with 400.
  virtual Status adoptStream(void* native, Stream* stream) = 0;
  /// Shares a device's multiprocessors out to `count` green contexts of its primary one, of equal size, and makes a
  /// stream in each; they stay for the rest of the process. kInvalidResourceConfiguration (915): there are too few;
  /// kNotSupported (801): simulated devices have none to share out.
  virtual Status greenStreams(int device, int count, std::vector<GreenStream>* streams) {
    streams->clear();
    return Status::kNotSupported;
  }
  virtual Status synchronizeStream(Stream stream) = 0;
  virtual Status queryStream(Stream stream) = 0;  // kNotReady while work is pending
  virtual Status waitEvent(Stream stream, Event event) = 0;
  virtual Status createEvent(Event* event) = 0;
  virtual Status destroyEvent(Event event) = 0;
  virtual Status recordEvent(Event event, Stream stream) = 0;
  virtual Status queryEvent(Event event) = 0;
  virtual Status synchronizeEvent(Event event) = 0;
  virtual Status elapsedMillis(Event start, Event end, float* millis) = 0;
  virtual Status synchronizeContext() = 0;  // the current one

  virtual Status launch(Function function, const LaunchShape& shape, Stream stream,
                        const LaunchArguments& arguments) = 0;

  // Memory. Addresses are unique over all devices of the process (one address space, as CUDA's unified addressing).
  virtual Status allocate(std::size_t bytes, void** pointer) = 0;  // on the current context's device
  virtual Status free(void* pointer) = 0;
  virtual Status pointerDevice(const void* pointer, int* device) = 0;  // kInvalidValue: host memory
  /// Between any of: host, a device, another device. Without peer access a device-to-device copy is staged through the
  /// host; the log says which. An edge that the topology forbids is kPeerAccessUnsupported (217).
  virtual Status copy(void* destination, const void* source, std::size_t bytes, Stream stream) = 0;
  virtual Status memoryInfo(int device, MemoryInfo* info) = 0;
  virtual Status resetPeak(int device) = 0;

  // Peer access, one way: kernels of `from`'s contexts may touch `to`'s memory.
  virtual Status canAccessPeer(int from, int to, bool* can) = 0;
  virtual Status enablePeerAccess(int from, int to) = 0;
  virtual Status disablePeerAccess(int from, int to) = 0;

  virtual DriverLog& log() = 0;
};

/// Throws DeviceError unless kSuccess. `call` names the driver call, `detail` what it was about; what the driver itself
/// said of the refusal on this thread (noteRefusal) is added.
void check(Status status, const char* call, int device, const std::string& detail = "");

/// For implementations: keeps, for this thread, why a call was refused, until the next check().
void noteRefusal(Status status, std::string detail);

}  // namespace redraft::devices
