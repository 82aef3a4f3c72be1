#include "harness/probe/trace_join.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace redraft::harness {
namespace {

class Joiner {
 public:
  Joiner(CapturedRecords& captured, const std::function<std::string(devices::RoleId)>& roleName,
         const std::function<std::string(const ResourceEvent&)>& stackOf)
      : captured_(captured), trace_(captured.trace), roleName_(roleName), stackOf_(stackOf) {}

  void join() {
    dropNestedCalls();
    indexCalls();
    dropQueries();
    addContexts();
    placeGreenWaits();
    addCode();
    addDeclared();
    addCollectives();
    for (TraceRecord& record : trace_.records) complete(record);
    addStreamStacks();
    finish();
  }

 private:
  StringId text(std::string_view of) { return trace_.strings.intern(of); }

  /// Calls of each thread in the order of time, outer before inner.
  std::map<std::int64_t, std::vector<std::size_t>> callsByThread() const {
    std::map<std::int64_t, std::vector<std::size_t>> calls;
    for (std::size_t i = 0; i < trace_.records.size(); ++i)
      if (trace_.records[i].kind == RecordKind::kApi) calls[trace_.records[i].thread].push_back(i);
    for (auto& [thread, of] : calls) {
      std::sort(of.begin(), of.end(), [this](std::size_t a, std::size_t b) {
        const TraceRecord &x = trace_.records[a], &y = trace_.records[b];
        return x.startNs != y.startNs ? x.startNs < y.startNs : x.endNs() > y.endNs();
      });
    }
    return calls;
  }

  void dropNestedCalls() {
    std::vector<bool> nested(trace_.records.size(), false);
    std::unordered_map<std::int64_t, std::int64_t> outerOf;
    for (const auto& [thread, calls] : callsByThread()) {
      const TraceRecord* outer = nullptr;
      for (const std::size_t i : calls) {
        const TraceRecord& call = trace_.records[i];
        if (!call.has(kDriverApi)) {
          outer = &call;
        } else if (outer != nullptr && call.startNs >= outer->startNs && call.endNs() <= outer->endNs()) {
          nested[i] = true;
          if (call.correlation != outer->correlation) outerOf[call.correlation] = outer->correlation;
        }
      }
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < trace_.records.size(); ++i) {
      if (nested[i]) {
        ++captured_.nestedCalls;
        continue;
      }
      TraceRecord record = trace_.records[i];
      const auto outer = record.kind == RecordKind::kApi ? outerOf.end() : outerOf.find(record.correlation);
      if (outer != outerOf.end()) record.correlation = outer->second;
      trace_.records[kept++] = record;
    }
    trace_.records.resize(kept);
  }

  void indexCalls() {
    for (const TraceRecord& record : trace_.records)
      if (record.kind == RecordKind::kApi && record.correlation >= 0) calls_.try_emplace(record.correlation, record);
  }

  /// CUPTI records a query that found its event done as a wait for it. Queries are not among the calls, so such a wait
  /// has no thread: nobody waited.
  void dropQueries() {
    const StringId eventSync = text("Event Sync");
    std::erase_if(trace_.records, [&](const TraceRecord& record) {
      return record.kind == RecordKind::kSync && record.name == eventSync && !calls_.contains(record.correlation);
    });
  }

  void fillOrigin(TraceRecord& record, const devices::Origin& origin) {
    if (origin.role != 0) record.role = text(roleName_(origin.role));
    if (origin.phase != devices::Phase::kNone) record.phase = text(devices::phaseName(origin.phase));
    record.step = static_cast<std::int32_t>(origin.step);
  }

  void fillFrom(TraceRecord& record, const ResourceEvent& event) {
    record.startNs = event.timeNs;
    record.thread = event.thread;
    record.detail = text(stackOf_(event));
    fillOrigin(record, event.origin);
  }

  /// One record a context. CUPTI may give none for a context that was destroyed at once: its event tells of it then.
  void addContexts() {
    std::set<std::int32_t> recorded;
    std::erase_if(trace_.records, [&](const TraceRecord& record) {
      return record.kind == RecordKind::kContext && !recorded.insert(record.context).second;
    });
    for (const ResourceEvent& event : captured_.resources) {
      if (event.kind != ResourceKind::kContext) continue;
      auto found = std::find_if(trace_.records.begin(), trace_.records.end(), [&](const TraceRecord& record) {
        return record.kind == RecordKind::kContext && record.context == event.context;
      });
      if (found == trace_.records.end()) {
        TraceRecord made;
        made.kind = RecordKind::kContext;
        made.name = text("context");
        made.context = event.context;
        made.device = event.device;
        found = trace_.records.insert(trace_.records.end(), made);
      }
      if (found->device < 0) found->device = event.device;
      fillFrom(*found, event);
    }
    for (const TraceRecord& record : trace_.records) {
      if (record.kind != RecordKind::kContext) continue;
      deviceOf_[record.context] = record.device;
      nullStreams_[record.context] = record.stream;
    }
  }

  /// CUPTI gives a wait of a green context's stream the device's primary context.
  void placeGreenWaits() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> greenOf;  // device and stream → context
    std::set<std::int32_t> green;
    for (const TraceRecord& record : trace_.records)
      if (record.kind == RecordKind::kContext && trace_.text(record.name).starts_with(kGreenContext))
        green.insert(record.context);
    std::set<std::pair<std::int32_t, std::int32_t>> worksIn;  // context and stream
    for (const TraceRecord& record : trace_.records) {
      if (record.stream < 0 || (!isDeviceWork(record.kind) && record.kind != RecordKind::kEvent)) continue;
      worksIn.emplace(record.context, record.stream);
      if (green.contains(record.context)) greenOf[{deviceOf_[record.context], record.stream}] = record.context;
    }
    for (TraceRecord& record : trace_.records) {
      if (record.kind != RecordKind::kSync || worksIn.contains({record.context, record.stream})) continue;
      const auto context = greenOf.find({deviceOf_[record.context], record.stream});
      if (context != greenOf.end()) record.context = context->second;
    }
  }

  void addCode() {
    for (const ResourceEvent& event : captured_.resources) {
      if (event.kind != ResourceKind::kModule && event.kind != ResourceKind::kFunction) continue;
      TraceRecord record;
      record.kind = event.kind == ResourceKind::kModule ? RecordKind::kModule : RecordKind::kFunction;
      record.name = text(event.kind == ResourceKind::kModule ? "module" : event.name);
      record.object = event.object;
      record.context = event.context;
      fillFrom(record, event);
      trace_.records.push_back(record);
    }
  }

  void addDeclared() {
    for (const DeclaredEnd& end : captured_.declared.ends) {
      TraceRecord record = declared(end, RecordKind::kHandOff);
      record.name = text(end.taken ? devices::kHandOffTaken : devices::kHandOffGiven);
      record.flags = end.taken ? kConsumer : 0;
      record.handoff = end.handOff;
      record.bytes = end.bytes;
      trace_.records.push_back(record);
    }
    for (const DeclaredEnd& own : captured_.declared.own) {
      TraceRecord record = declared(own, RecordKind::kStream);
      record.name = text("stream of a role");
      record.flags = kOwned;
      trace_.records.push_back(record);
    }
  }

  TraceRecord declared(const DeclaredEnd& end, RecordKind kind) {
    TraceRecord record;
    record.kind = kind;
    record.startNs = end.timeNs;
    record.thread = end.thread;
    record.device = end.device;
    record.context = end.context;
    const auto null = nullStreams_.find(end.context);
    record.stream = end.stream < 0 && null != nullStreams_.end() ? null->second : end.stream;
    fillOrigin(record, end.origin);
    return record;
  }

  void addCollectives() {
    std::map<std::int64_t, std::vector<const DeclaredCollective*>> byThread;
    for (const DeclaredCollective& each : captured_.declared.collectives) {
      byThread[each.thread].push_back(&each);
      TraceRecord record;
      record.kind = RecordKind::kAnnotation;
      record.name = text(each.what);
      record.detail = text(each.communicator);
      record.startNs = each.beganNs;
      record.durationNs = each.endedNs - each.beganNs;
      record.thread = each.thread;
      record.bytes = each.bytes;
      fillOrigin(record, each.origin);
      trace_.records.push_back(record);
    }
    for (TraceRecord& record : trace_.records) {
      if (record.kind != RecordKind::kKernel || !trace_.text(record.name).starts_with("nccl")) continue;
      const auto call = calls_.find(record.correlation);
      if (call == calls_.end()) continue;
      for (const DeclaredCollective* each : byThread[call->second.thread])
        if (each->beganNs <= call->second.startNs && call->second.startNs <= each->endedNs)
          record.detail = text(each->communicator);
    }
    for (const devices::Communicator& each : captured_.declared.communicators)
      trace_.files.front().capture.communicators.push_back({each.name, each.rank, each.device, each.gpus});
  }

  /// What a record lacks and its call or context has.
  void complete(TraceRecord& record) {
    if (record.device < 0 && record.kind != RecordKind::kApi) {
      const auto device = deviceOf_.find(record.context);
      if (device != deviceOf_.end()) record.device = device->second;
    }
    if (record.kind == RecordKind::kApi) return;
    const auto call = calls_.find(record.correlation);
    if (call == calls_.end()) return;
    const TraceRecord& of = call->second;
    const bool untimed = record.kind == RecordKind::kEvent || record.kind == RecordKind::kStream;
    if (untimed && record.startNs == 0) {
      record.startNs = of.startNs;
      record.durationNs = 1;
    }
    if (!isDeviceWork(record.kind) && record.thread < 0) record.thread = of.thread;
    if (record.role != 0) return;
    record.role = of.role;
    record.step = of.step;
    record.phase = of.phase;
  }

  void addStreamStacks() {
    std::map<std::int64_t, std::vector<const ResourceEvent*>> events;  // by thread
    for (const ResourceEvent& event : captured_.resources)
      if (event.kind == ResourceKind::kStream) events[event.thread].push_back(&event);
    for (TraceRecord& record : trace_.records) {
      if (record.kind != RecordKind::kStream) continue;
      const auto call = calls_.find(record.correlation);
      if (call == calls_.end()) continue;
      for (const ResourceEvent* event : events[call->second.thread]) {
        const bool within = event->timeNs >= call->second.startNs && event->timeNs <= call->second.endNs();
        if (within && (event->context < 0 || event->context == record.context)) record.detail = text(stackOf_(*event));
      }
    }
  }

  void finish() {
    std::stable_sort(trace_.records.begin(), trace_.records.end(),
                     [](const TraceRecord& a, const TraceRecord& b) { return a.startNs < b.startNs; });
    TraceFile& file = trace_.files.front();
    for (TraceRecord& record : trace_.records) {
      record.place = record.index = static_cast<std::uint32_t>(&record - trace_.records.data());
      if (record.role != 0 && record.thread >= 0 && record.kind == RecordKind::kApi)
        file.threadNames.try_emplace(record.thread, trace_.text(record.role));
    }
    file.events = trace_.records.size();
  }

  CapturedRecords& captured_;
  Trace& trace_;
  const std::function<std::string(devices::RoleId)>& roleName_;
  const std::function<std::string(const ResourceEvent&)>& stackOf_;
  std::unordered_map<std::int64_t, TraceRecord> calls_;          // by correlation
  std::map<std::int32_t, std::int32_t> deviceOf_, nullStreams_;  // by context
};

}  // namespace

void joinRecords(CapturedRecords& captured, const std::function<std::string(devices::RoleId)>& roleName,
                 const std::function<std::string(const ResourceEvent&)>& stackOf) {
  Joiner(captured, roleName, stackOf).join();
}

}  // namespace redraft::harness
