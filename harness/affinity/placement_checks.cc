// A1–A4, A6, A7: where work, contexts and memory are.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

bool anyRoleFor(const TraceIndex& index) {
  return std::any_of(index.trace().records.begin(), index.trace().records.end(), [&](const TraceRecord& record) {
    return isDeviceWork(record.kind) && index.contractOf(record) != nullptr;
  });
}

constexpr const char* kNoRole = "no device work belongs to a role of the contract";

std::string streamText(const TraceRecord& record) {
  return "stream " + std::to_string(record.stream) + " of context " + std::to_string(record.context);
}

/// The streams that roles have declared to be their own.
class StreamOwners {
 public:
  explicit StreamOwners(const TraceIndex& index) : index_(index) {
    index.each(RecordKind::kStream, [&](const TraceRecord& stream) {
      if (stream.has(kOwned)) owners_[keyOf(stream)].insert(index.roleOf(stream));
    });
    index.each(RecordKind::kContext, [&](const TraceRecord& context) {
      contexts_[{index.processOf(context), context.context}] = index.trace().text(context.name);
    });
  }

  bool empty() const { return owners_.empty(); }
  /// Whose the stream of a role's work is; "": its own, or nobody's.
  std::string other(const TraceRecord& work) const {
    const std::string& role = index_.roleOf(work);
    const auto owners = owners_.find(keyOf(work));
    if (role.empty() || owners == owners_.end() || owners->second.contains(role)) return "";
    return *owners->second.begin();
  }
  /// "stream 13 of context 2 (green context of 16 multiprocessors)".
  std::string text(const TraceRecord& work) const {
    const auto context = contexts_.find({index_.processOf(work), work.context});
    const bool named = context != contexts_.end() && context->second != "context";
    return streamText(work) + (named ? " (" + context->second + ")" : "");
  }

 private:
  using Key = std::tuple<std::int64_t, std::int32_t, std::int32_t>;  // process, context, stream
  Key keyOf(const TraceRecord& record) const { return {index_.processOf(record), record.context, record.stream}; }

  const TraceIndex& index_;
  std::map<Key, std::set<std::string>> owners_;
  std::map<std::pair<std::int64_t, std::int32_t>, std::string> contexts_;
};

/// The null stream of every context, by process and context.
std::map<std::pair<std::int64_t, std::int32_t>, std::int32_t> nullStreams(const TraceIndex& index) {
  std::map<std::pair<std::int64_t, std::int32_t>, std::int32_t> streams;
  index.each(RecordKind::kContext, [&](const TraceRecord& context) {
    if (context.stream >= 0) streams[{index.processOf(context), context.context}] = context.stream;
  });
  return streams;
}

/// Whether this is half of a copy that the role may stage through the host: it has to be on the other device.
bool stagesAnEdge(const TraceIndex& index, const TraceRecord& work, const RoleContract& role) {
  if (work.kind != RecordKind::kCopy) return false;
  const std::string& name = index.trace().text(work.name);
  return (isToHost(name) && role.mayStageFrom(work.device)) || (isToDevice(name) && role.mayStageTo(work.device));
}

/// What made a context on this thread: the newest cudaSetDevice before it, else the thread's first call.
std::string blameFor(const TraceIndex& index, const TraceRecord& context) {
  const TraceRecord *set = nullptr, *first = nullptr;
  index.each(RecordKind::kApi, [&](const TraceRecord& call) {
    if (call.thread != context.thread || call.startNs > context.startNs) return;
    if (first == nullptr || call.startNs < first->startNs) first = &call;
    if (setsDevice(index.trace().text(call.name)) && (set == nullptr || call.startNs >= set->startNs)) set = &call;
  });
  const TraceRecord* blamed = set != nullptr ? set : first;
  if (blamed == nullptr) return "";
  return "; after " + index.trace().text(blamed->name) + " (event " + std::to_string(blamed->index) + ")";
}

}  // namespace

TraceCheck checkWrongDevice(const TraceIndex& index) {
  CheckBuilder check(index, "A1", "wrong-device", "a role works on its own devices alone");
  if (index.contract() == nullptr) return check.notComputable(kNeedsContract);
  if (!anyRoleFor(index)) return check.notComputable(kNoRole);
  index.eachWork([&](const TraceRecord& work) {
    const RoleContract* role = work.kind == RecordKind::kPeerCopy ? nullptr : index.contractOf(work);
    if (role != nullptr && work.device >= 0 && !role->mayUse(work.device) && !stagesAnEdge(index, work, *role))
      check.violation(work, index.roleOf(work) + " worked on " + deviceText(work.device) + "; its own are " +
                                listText(role->devices));
  });
  return check.done();
}

TraceCheck checkWrongStream(const TraceIndex& index) {
  CheckBuilder check(index, "A2", "wrong-stream", "a role works on its own streams alone");
  const StreamOwners owners(index);
  index.eachWork([&](const TraceRecord& work) {
    const std::string owner = work.kind == RecordKind::kPeerCopy ? "" : owners.other(work);
    if (!owner.empty())
      check.violation(work, index.roleOf(work) + " worked on " + owners.text(work) + ", which is " + owner + "'s own");
  });
  const Contract* contract = index.contract();
  const auto namesStreams = [](const auto& role) { return !role.second.streams.empty(); };
  if (contract == nullptr || std::none_of(contract->roles.begin(), contract->roles.end(), namesStreams)) {
    if (!owners.empty()) return check.done();
    return check.notComputable(contract == nullptr
                                   ? kNeedsContract
                                   : "the contract names no streams, and the trace declares none to be a role's own");
  }
  if (!anyRoleFor(index)) return check.notComputable(kNoRole);
  index.eachWork([&](const TraceRecord& work) {
    const RoleContract* role = work.kind == RecordKind::kPeerCopy ? nullptr : index.contractOf(work);
    if (role == nullptr || role->streams.empty() || work.stream < 0) return;
    const ContractStream stream{work.context, work.stream};
    if (std::find(role->streams.begin(), role->streams.end(), stream) == role->streams.end())
      check.violation(work,
                      index.roleOf(work) + " worked on " + streamText(work) + ", which the contract does not name");
  });
  return check.done();
}

TraceCheck checkDefaultStream(const TraceIndex& index) {
  CheckBuilder check(index, "A3", "default-stream", "no work is on a context's null stream");
  if (index.count(RecordKind::kContext) == 0)
    return check.notComputable("the trace has no context records, which say what a context's null stream is");
  const auto streams = nullStreams(index);
  index.eachWork([&](const TraceRecord& work) {
    const RoleContract* role = index.contractOf(work);
    const auto null = streams.find({index.processOf(work), work.context});
    if (null != streams.end() && null->second == work.stream && (role == nullptr || !role->defaultStream))
      check.violation(work, "on the null stream of context " + std::to_string(work.context));
  });
  return check.done();
}

TraceCheck checkCopyEdge(const TraceIndex& index) {
  CheckBuilder check(index, "A4", "copy-edge", "copies between devices keep to the declared edges");
  if (!index.captured(RecordKind::kPeerCopy))
    return check.notComputable(
        "the trace has no peer copy, and nothing shows that it would have one (Kineto does not ask for MEMCPY2)");
  index.each(RecordKind::kPeerCopy, [&](const TraceRecord& copy) {
    const std::string edge = deviceText(copy.fromDevice) + " to " + deviceText(copy.toDevice);
    if (copy.device >= 0 && copy.fromDevice >= 0 && copy.device != copy.fromDevice && copy.device != copy.toDevice)
      check.violation(copy, "copied from " + edge + " by " + deviceText(copy.device) + ", which is neither");
    const RoleContract* role = index.contractOf(copy);
    if (role == nullptr || copy.fromDevice < 0 || copy.fromDevice == copy.toDevice) return;
    const bool declared = std::any_of(role->copies.begin(), role->copies.end(), [&](const ContractCopy& allowed) {
      return allowed.from == copy.fromDevice && allowed.to == copy.toDevice;
    });
    if (!declared) check.violation(copy, index.roleOf(copy) + " copied from " + edge + ", no edge of its own");
  });
  return index.contract() == nullptr ? check.notComputable(kNeedsContract) : check.done();
}

TraceCheck checkStrayContext(const TraceIndex& index) {
  CheckBuilder check(index, "A6", "stray-context", "contexts are made on declared devices alone, by their own roles");
  if (index.contract() == nullptr) return check.notComputable(kNeedsContract);
  if (index.count(RecordKind::kContext) == 0) return check.notComputable("the trace has no records of contexts made");
  std::set<std::int32_t> declared;
  for (const auto& [name, role] : index.contract()->roles) declared.insert(role.devices.begin(), role.devices.end());
  index.each(RecordKind::kContext, [&](const TraceRecord& context) {
    const RoleContract* role = context.thread >= 0 ? index.contractOf(context) : nullptr;
    std::string wrong;
    if (!declared.contains(context.device)) {
      wrong = "a context on " + deviceText(context.device) + ", which no role may use";
    } else if (role != nullptr && !role->mayUse(context.device)) {
      wrong = index.roleOf(context) + " made a context on " + deviceText(context.device) + "; its own are " +
              listText(role->devices);
    }
    if (!wrong.empty()) check.violation(context, check.showsMore() ? wrong + blameFor(index, context) : wrong);
  });
  return check.done();
}

TraceCheck checkWrongAllocation(const TraceIndex& index) {
  CheckBuilder check(index, "A7", "wrong-allocation", "a role allocates on its own devices alone");
  if (index.contract() == nullptr) return check.notComputable(kNeedsContract);
  if (!index.captured(RecordKind::kAllocation)) return check.notComputable("the trace has no allocations");
  bool anyRole = index.count(RecordKind::kAllocation) == 0;
  index.each(RecordKind::kAllocation, [&](const TraceRecord& taken) {
    const RoleContract* role = index.contractOf(taken);
    anyRole |= role != nullptr;
    if (role == nullptr || taken.device < 0 || taken.bytes <= 0 || role->mayUse(taken.device)) return;
    check.violation(taken, index.roleOf(taken) + " took " + std::to_string(taken.bytes) + " bytes on " +
                               deviceText(taken.device) + "; its own are " + listText(role->devices));
  });
  return anyRole ? check.done() : check.notComputable("no allocation belongs to a role of the contract");
}

}  // namespace redraft::harness
