#pragma once
// What devices did, as the affinity audit needs it: kernels, copies, API calls, synchronisations, resources. Read from
// Kineto JSON (kineto_reader.h) or the compact form (binary_trace.h), or made from the driver's log (driver_trace.h).

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redraft::harness {

using StringId = std::uint32_t;  // 0 is ""

/// Every text once. Views stay valid while the table lives. Not thread-safe.
class StringTable {
 public:
  StringTable();
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;

  StringId intern(std::string_view text);
  /// The id of a text that is there; 0 otherwise.
  StringId find(std::string_view text) const;
  const std::string& text(StringId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque: growing moves no text
  std::unordered_map<std::string_view, StringId> ids_;
};

enum class RecordKind : std::uint8_t {
  kKernel,
  kCopy,      // one device and the host, or within a device
  kPeerCopy,  // between two devices
  kSet,
  kApi,   // a call of the runtime or driver API
  kSync,  // a wait: of the host, or of a stream for an event
  kEvent,
  kContext,     // created; `stream` is its null stream
  kStream,      // created
  kModule,      // loaded
  kFunction,    // `name` belongs to `context`, whose module was loaded there
  kAllocation,  // of device memory, `bytes` < 0 when freed
  kAnnotation,  // a range of a thread, as ProfilerStep#7
  kOverhead,
  kRace,     // two streams used one range with no order between them (the simulator's check)
  kHandOff,  // declared by the program: `thread` gave what is on `stream` by then, or takes what it puts there next
};
/// How the name of a green context begins: part of a device's multiprocessors, within its primary context.
inline constexpr std::string_view kGreenContext = "green context";
inline constexpr int kRecordKinds = static_cast<int>(RecordKind::kHandOff) + 1;

const char* recordKindName(RecordKind kind);
std::optional<RecordKind> recordKindFromName(std::string_view name);

/// Kernels, copies, sets: what a device does.
constexpr bool isDeviceWork(RecordKind kind) { return kind <= RecordKind::kSet; }

/// Bits of TraceRecord::flags.
enum RecordFlag : std::uint8_t {
  kPageable = 1,     // a copy from or to pageable memory: the host waits
  kConsumer = 2,     // this end of a hand-off waits for the other
  kNonBlocking = 4,  // a stream that does not follow the null stream
  kStaged = 8,       // half of a copy between devices that goes through the host
  kDriverApi = 16,   // of the driver API, not of the runtime
  kOwned = 32,       // of a stream: its role declared it to be its own
};

/// One record. Absent: -1 of signed members, 0 of the others.
struct TraceRecord {
  std::int64_t startNs = 0;  // of the file's clock
  std::int64_t durationNs = 0;
  std::int64_t bytes = 0;
  std::int64_t thread = -1;
  std::int64_t correlation = -1;  // joins device work with the API call that issued it
  std::int64_t link = -1;         // of an event: this recording of it; of a wait: the recording that it waits for
  std::uint64_t object = 0;       // event, address, module
  std::uint64_t place = 0;        // byte offset in its file; in a compact file, the number of the record
  std::uint32_t index = 0;        // of the event in its file
  std::uint32_t handoff = 0;      // of the hand-off that it is, or declares, an end of
  StringId name = 0, role = 0, phase = 0, detail = 0;
  StringId shape = 0;  // of a kernel: launch_shape.h
  std::int32_t step = -1;
  std::int32_t device = -1, context = -1, stream = -1;
  std::int32_t fromDevice = -1, toDevice = -1;
  std::int32_t graph = -1;
  std::uint16_t file = 0;
  RecordKind kind = RecordKind::kKernel;
  std::uint8_t flags = 0;

  std::int64_t endNs() const { return startNs + durationNs; }
  bool has(RecordFlag flag) const { return (flags & flag) != 0; }
};

/// A communicator that the process of a trace belonged to.
struct CommunicatorInfo {
  std::string name;
  std::int32_t rank = 0, device = -1;
  std::vector<std::string> gpus;  // of each rank: two are equal exactly when they are one GPU
  bool operator==(const CommunicatorInfo&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("name", name);
    visit("rank", rank);
    visit("device", device);
    visit("gpus", gpus);
  }
};

/// What a capture says of itself; a file of another tool says nothing.
struct CaptureInfo {
  std::string source;                   // "sim", "cupti"; "" when the file does not say
  std::int64_t process = 0;             // pid; correlations are unique within it
  std::optional<std::int64_t> dropped;  // records that were lost
  std::vector<std::string> kinds;       // recordKindName() of what was captured
  std::vector<std::string> canaries;    // names of the planted violations and copies that were seen: "A1", "peer_copy"
  std::vector<CommunicatorInfo> communicators = {};
};

struct TraceFile {
  std::string path;
  CaptureInfo capture;
  std::optional<std::int64_t> rank, worldSize;
  std::map<std::int64_t, std::string> deviceNames;
  std::map<std::int64_t, std::string> threadNames;
  std::uint64_t events = 0, bytes = 0;  // read, of all kinds; unpacked

  bool captured(RecordKind kind) const;
};

struct Trace {
  StringTable strings;
  std::vector<TraceFile> files;
  std::vector<TraceRecord> records;  // of each file in the file's order

  const std::string& text(StringId id) const { return strings.text(id); }
};

/// Appends `from` to `into`: strings and files get new numbers.
void appendTrace(Trace& into, Trace from);

}  // namespace redraft::harness
