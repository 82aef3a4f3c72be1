#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "harness/affinity/checks.h"

namespace redraft::harness {
namespace {

using FileThread = std::pair<std::uint16_t, std::int64_t>;

/// Groups of threads that work on the same devices, in traces that name no roles.
class ThreadGroups {
 public:
  explicit ThreadGroups(const TraceIndex& index) {
    index.eachWork([&](const TraceRecord& work) {
      const TraceRecord* call = index.callOf(work);
      if (call == nullptr || work.device < 0) return;
      const std::int32_t first = deviceOf_.try_emplace({call->file, call->thread}, work.device).first->second;
      root(work.device);
      parents_[root(work.device)] = root(first);
      threads_[{call->file, call->thread}] = call->thread;
    });
  }

  std::map<std::string, RoleContract> roles() {
    std::map<std::int32_t, RoleContract> groups;
    for (const auto& [device, parent] : parents_) groups[root(device)].devices.push_back(device);
    for (const auto& [thread, id] : threads_) {
      auto& ids = groups[root(deviceOf_.at(thread))].threads;
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    std::map<std::string, RoleContract> roles;
    for (auto& [device, role] : groups) {
      // A single role needs no thread ids, which differ from run to run.
      role.unclaimed = groups.size() == 1;
      if (role.unclaimed) role.threads.clear();
      roles["device" + listText(role.devices)] = std::move(role);
    }
    return roles;
  }

 private:
  std::int32_t root(std::int32_t device) {
    std::int32_t& parent = parents_.try_emplace(device, device).first->second;
    return parent == device ? device : parent = root(parent);
  }

  std::map<std::int32_t, std::int32_t> parents_;  // of devices
  std::map<FileThread, std::int32_t> deviceOf_;   // the first that a thread worked on
  std::map<FileThread, std::int64_t> threads_;
};

template <class Value>
void addOnce(std::vector<Value>& values, const Value& value) {
  const auto at = std::lower_bound(values.begin(), values.end(), value);
  if (at == values.end() || *at != value) values.insert(at, value);
}

std::map<std::string, RoleContract> rolesOf(const TraceIndex& index) {
  std::map<std::string, RoleContract> roles;
  if (!index.hasRoles()) return ThreadGroups(index).roles();
  const auto uses = [&](const TraceRecord& record) {
    const std::string& role = index.roleOf(record);
    if (!role.empty() && record.device >= 0) addOnce(roles[role].devices, record.device);
  };
  index.eachWork([&](const TraceRecord& work) {
    if (work.kind != RecordKind::kPeerCopy) uses(work);
  });
  index.each(RecordKind::kContext, [&](const TraceRecord& context) {
    if (context.thread >= 0) uses(context);
  });
  index.each(RecordKind::kAllocation, uses);
  return roles;
}

/// What each role did, with the roles known.
class Usage {
 public:
  Usage(const Trace& trace, Contract& contract) : trace_(trace), contract_(contract), index_(trace, &contract) {}

  void fill() {
    index_.each(RecordKind::kContext, [&](const TraceRecord& context) {
      nullStreams_.insert({index_.processOf(context), context.context, context.stream});
    });
    index_.eachWork([&](const TraceRecord& work) { add(work); });
    for (auto& [key, devices] : graphs_)
      addOnce(contract_.graphs, std::vector<std::int32_t>(devices.begin(), devices.end()));
    countCalls();
  }

 private:
  RoleContract* roleOf(const TraceRecord& record) {
    const auto found = contract_.roles.find(index_.roleOf(record));
    return found == contract_.roles.end() ? nullptr : &found->second;
  }

  void add(const TraceRecord& work) {
    if (work.graph > 0 && work.device >= 0) graphs_[{index_.processOf(work), work.graph}].insert(work.device);
    RoleContract* role = roleOf(work);
    if (role == nullptr) return;
    if (nullStreams_.contains({index_.processOf(work), work.context, work.stream})) role->defaultStream = true;
    if (work.kind == RecordKind::kPeerCopy) {
      addEdge(*role, work);
    } else if (work.stream >= 0) {
      addOnce(role->streams, {work.context, work.stream});
    }
  }

  static void addEdge(RoleContract& role, const TraceRecord& copy) {
    if (copy.fromDevice < 0 || copy.toDevice < 0 || copy.fromDevice == copy.toDevice) return;
    for (ContractCopy& edge : role.copies) {
      if (edge.from != copy.fromDevice || edge.to != copy.toDevice) continue;
      edge.peer = edge.peer && !copy.has(kStaged);
      return;
    }
    role.copies.push_back({copy.fromDevice, copy.toDevice, !copy.has(kStaged), std::nullopt});
  }

  /// Limits: the most that any step had. The audit of A9 and A13 with no allowance counts them.
  void countCalls() {
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> waits, sets;
    for (const TraceRecord& record : trace_.records) {
      RoleContract* role = nullptr;
      const std::int64_t step = index_.hasSteps() ? index_.stepOf(record) : -1;
      const std::string& name = trace_.text(record.name);
      if (isHostWait(index_, record) && (role = roleOf(record)) != nullptr)
        role->hostSyncs = std::max(role->hostSyncs, ++waits[{index_.roleOf(record), step}]);
      if (record.kind == RecordKind::kApi && setsDevice(name) && (role = roleOf(record)) != nullptr)
        role->setDevice = std::max(role->setDevice.value_or(0), ++sets[{index_.roleOf(record), step}]);
    }
  }

  const Trace& trace_;
  Contract& contract_;
  const TraceIndex index_;
  std::set<std::tuple<std::int64_t, std::int32_t, std::int32_t>> nullStreams_;
  std::map<std::pair<std::int64_t, std::int32_t>, std::set<std::int32_t>> graphs_;
};

}  // namespace

Contract inferContract(const Trace& trace) {
  Contract contract;
  contract.roles = rolesOf(TraceIndex(trace, nullptr));
  std::erase_if(contract.roles, [](const auto& role) { return role.second.devices.empty(); });
  if (contract.roles.empty())
    throwBadInput(trace.files.empty() ? "" : trace.files.front().path, "no device work with its call, to infer from",
                  "trace with CPU and CUDA activities, some steps of a run that is right");
  Usage(trace, contract).fill();
  return contract;
}

}  // namespace redraft::harness
