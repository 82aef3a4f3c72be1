#pragma once
// The event log of a run, events.jsonl (docs/formats.md, "Events"): its one writer is the runner, its reader the
// supervisor. The keys of every event are declared here, once.

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/record.h"

namespace redraft::harness {

inline constexpr const char* kEventsSchema = "redraft.events/1";

/// Common to all events. Absent in the file: an empty role or phase, step -1.
struct EventHead {
  std::int64_t seq = 0;     // from 0, no gaps
  std::int64_t nanos = 0;   // steady clock since the run began
  std::int64_t thread = 0;  // gettid
  std::string role;         // "drafter[1]"; empty on threads that no role owns
  std::int64_t step = -1;
  std::string phase;  // devices::phaseName()
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("seq", seq);
    visit("ns", nanos);
    visit("thread", thread);
    visit.unless("role", role, "");
    visit.unless("step", step, -1);
    visit.unless("phase", phase, "");
  }
};

struct RunBegin {
  static constexpr const char* kType = "run.begin";
  std::string schema = kEventsSchema, scenario;
  std::int64_t pid = 0;
  std::string backend, token;
  std::vector<int> placement;      // the physical device of each logical one (devices/placement.h); empty: itself
  int rank = 0, processes = 1;     // whose log this is, of how many
  std::vector<std::string> roles;  // of this process, where there are several; empty: all of the topology
  bool traced = true;              // it leaves a trace when it ends by itself
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("schema", schema);
    visit("scenario", scenario);
    visit("pid", pid);
    visit.unless("rank", rank, 0);
    visit.unless("processes", processes, 1);
    visit("backend", backend);
    visit("token", token);
    visit.unless("placement", placement, std::vector<int>());
    visit.unless("roles", roles, std::vector<std::string>());
    visit.unless("traced", traced, true);
  }
};

struct RoleBegin {
  static constexpr const char* kType = "role.begin";
  int device = -1;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("device", device);
  }
};

struct RoleEnd {
  static constexpr const char* kType = "role.end";
  int device = -1;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("device", device);
  }
};

/// A progress mark.
struct SyncMark {
  static constexpr const char* kType = "sync";
  std::string point;        // model::syncPointName()
  std::int64_t object = 0;  // sample id, micro-batch, layer or round
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("point", point);
    visit("object", object);
  }
};

/// One range of a launch or copy that lies on another device than the one that it ran on.
struct ForeignRange {
  std::string name;
  int device = -1;
  std::int64_t bytes = 0;
  bool written = false;
  bool operator==(const ForeignRange&) const = default;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("name", name);
    visit("device", device);
    visit("bytes", bytes);
    visit("written", written);
  }
};

/// devices::LogRecord in the file. Absent: what does not apply to the call.
struct DriverCall {
  static constexpr const char* kType = "driver";
  std::string call;        // devices::callKindName()
  int status = 0;          // devices::Status
  std::string statusName;  // devices::statusName()
  int device = -1;         // of the current context; -1: none current
  std::int64_t context = 0, stream = 0;
  std::int64_t object = 0;  // function, module, event
  int objectDevice = -1;    // device of the context that owns the object; -1: every context
  std::int64_t objectContext = 0;
  std::string name;             // kernel or artefact
  std::optional<int> from, to;  // copies; -1 is the host
  bool staged = false;          // through the host
  std::int64_t bytes = 0;
  std::vector<ForeignRange> foreign;
  std::string detail;  // why it was refused; both sides of a race
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("call", call);
    visit("status", status);
    visit("status_name", statusName);
    visit("device", device);
    visit("context", context);
    visit.unless("stream", stream, 0);
    visit.unless("object", object, 0);
    visit.unless("object_device", objectDevice, -1);
    visit.unless("object_context", objectContext, 0);
    visit.unless("name", name, "");
    visit("from", from);
    visit("to", to);
    visit.unless("staged", staged, false);
    visit.unless("bytes", bytes, 0);
    visit.unless("foreign", foreign, std::vector<ForeignRange>());
    visit.unless("detail", detail, "");
  }
};

struct CacheMark {
  static constexpr const char* kType = "cache";
  std::string event;  // "lookup", "compile_begin", "compile_end", "load", "hit"
  std::string artefact;
  std::optional<int> passedDevice;  // absent: the call site passed none
  std::int64_t context = 0;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("event", event);
    visit("artefact", artefact);
    visit("passed_device", passedDevice);
    visit("context", context);
  }
};

/// A drafter finished its part of a step.
struct StepDone {
  static constexpr const char* kType = "step";
  double loss = 0;
  int drafter = 0;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("loss", loss);
    visit("drafter", drafter);
  }
};

/// After each optimiser step.
struct ReplicaCheck {
  static constexpr const char* kType = "replicas";
  bool equal = true;
  std::map<std::string, std::string> hashes;  // role → hash of its parameters
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("equal", equal);
    visit("hashes", hashes);
  }
};

struct ExceptionSeen {
  static constexpr const char* kType = "exception";
  std::string what;
  std::string exception;      // class
  std::optional<int> status;  // of a devices::DeviceError
  std::string call;           // its driver call
  std::optional<int> device;
  std::optional<int> rank;         // of a model::RankLost: the one that it blames
  std::vector<std::string> stack;  // symbolised frames, innermost first
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("what", what);
    visit("exception", exception);
    visit("status", status);
    visit.unless("call", call, "");
    visit("device", device);
    visit("rank", rank);
    visit("stack", stack);
  }
};

struct RunEnd {
  static constexpr const char* kType = "run.end";
  std::string outcome;  // "completed", "failed"
  std::int64_t steps = 0;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("outcome", outcome);
    visit("steps", steps);
  }
};

using EventBody = std::variant<RunBegin, RoleBegin, RoleEnd, SyncMark, DriverCall, CacheMark, StepDone, ReplicaCheck,
                               ExceptionSeen, RunEnd>;

struct Event {
  EventHead head;
  EventBody body;

  template <class Body>
  const Body* as() const {
    return std::get_if<Body>(&body);
  }
};

const char* eventType(const EventBody& body);
std::string eventLine(const Event& event);
/// Throws Error(kBadInput) with `place`.
Event parseEventLine(std::string_view line, const std::string& place);

/// Thread-safe. Numbers the events in file order, stamps time and thread. A failed write throws Error(kEnvironment),
/// and so does every later one, though its line might fit: a run that cannot record must not go on, nor end as if it
/// had.
class EventWriter {
 public:
  explicit EventWriter(const std::string& path);
  /// `role`, `step` and `phase` of the head are the caller's; the rest is filled in.
  void write(EventHead head, EventBody body);
  std::int64_t count() const;

 private:
  mutable std::mutex mutex_;
  LineWriter lines_;
  std::int64_t next_ = 0;
  std::exception_ptr broken_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What a run recorded. `problem` says why the record cannot be trusted: a torn line, a gap, a version that is not
/// known, a line that is no event. Events after the problem are dropped.
struct EventLog {
  std::vector<Event> events;
  std::string problem;

  template <class Body>
  const Event* first() const {
    for (const Event& event : events)
      if (event.as<Body>() != nullptr) return &event;
    return nullptr;
  }
};

/// Follows a growing event log. Not thread-safe.
class EventReader {
 public:
  explicit EventReader(std::string path);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Reads whole lines that were added, 1 MiB at most, so that its caller is not kept from looking at anything else;
  /// returns whether there is more. A file that is not there yet is no problem; one whose writer is 64 MiB ahead is.
  bool poll();
  /// Reads the rest, and gives the log away; an unfinished last line becomes the log's problem.
  EventLog finish();
  const EventLog& log() const { return log_; }

 private:
  bool readSome(std::size_t most);
  void acceptLines();
  void accept(std::string_view line);

  std::string path_;
  int fd_ = -1;
  std::size_t bytes_ = 0;
  std::string rest_;
  EventLog log_;
};

EventLog readEvents(const std::string& path);

}  // namespace redraft::harness
