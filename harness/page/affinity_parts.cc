// Who worked where, from the traces or from the events, beside what the contract allows.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "harness/affinity/checks.h"
#include "harness/page/parts.h"
#include "harness/page/timeline.h"

namespace redraft::harness {
namespace {

constexpr std::string_view kYes = "yes", kNo = "no", kCopies = "copies", kUnknown = "unknown", kHost = "host";

/// Gathers cells and edges, whatever they come from.
class AffinityTable {
 public:
  explicit AffinityTable(std::string source) { affinity_.source = std::move(source); }

  /// Rows and columns of all that the contract allows, used or not.
  void allow(const Contract& contract) {
    for (const auto& [role, rules] : contract.roles)
      for (const std::int32_t device : rules.devices) cell(role, device, &rules);
  }
  reports::AffinityCell& cell(const std::string& role, std::int64_t device, const RoleContract* rules) {
    const auto [at, isNew] = cells_.try_emplace({role, device});
    if (isNew) {
      at->second.role = role;
      at->second.device = device;
      at->second.allowed = allowedOn(rules, static_cast<std::int32_t>(device));
    }
    return at->second;
  }
  void copy(const std::string& role, const RoleContract* rules, std::int32_t from, std::int32_t to, bool staged,
            std::int64_t bytes) {
    reports::CopyEdge& edge = edges_[{role, from, to, staged}];
    edge.role = role;
    edge.from = from;
    edge.to = to;
    edge.staged = staged;
    edge.allowed = allowedEdge(rules, from, to);
    ++edge.count;
    edge.bytes += bytes;
  }
  void found(const std::string& check, const Violation& violation) {
    if (violation.device < 0 || violation.role.empty()) return;
    std::vector<std::string>& checks = cell(violation.role, violation.device, nullptr).checks;
    if (std::find(checks.begin(), checks.end(), check) == checks.end()) checks.push_back(check);
  }

  reports::Affinity done() {
    std::set<std::string> roles;
    std::set<std::int64_t> devices;
    for (const auto& [key, cell] : cells_) {
      roles.insert(key.first);
      devices.insert(key.second);
      affinity_.cells.push_back(cell);
    }
    affinity_.roles.assign(roles.begin(), roles.end());
    affinity_.devices.assign(devices.begin(), devices.end());
    for (const auto& [key, edge] : edges_) affinity_.copies.push_back(edge);
    return std::move(affinity_);
  }

 private:
  static std::string allowedOn(const RoleContract* rules, std::int32_t device) {
    if (rules == nullptr) return std::string(kUnknown);
    if (rules->mayUse(device)) return std::string(kYes);
    const auto ends = [device](const ContractCopy& copy) { return copy.from == device || copy.to == device; };
    return std::string(std::any_of(rules->copies.begin(), rules->copies.end(), ends) ? kCopies : kNo);
  }
  static std::string allowedEdge(const RoleContract* rules, std::int32_t from, std::int32_t to) {
    if (from < 0 || to < 0) return std::string(kHost);
    if (rules == nullptr) return std::string(kUnknown);
    const auto same = [&](const ContractCopy& copy) { return copy.from == from && copy.to == to; };
    const bool within = from == to && rules->mayUse(from);
    return std::string(within || std::any_of(rules->copies.begin(), rules->copies.end(), same) ? kYes : kNo);
  }

  reports::Affinity affinity_;
  std::map<std::pair<std::string, std::int64_t>, reports::AffinityCell> cells_;
  std::map<std::tuple<std::string, std::int32_t, std::int32_t, bool>, reports::CopyEdge> edges_;
};

void addCopy(const TraceIndex& index, const TraceRecord& record, const std::string& role, AffinityTable& table) {
  std::int32_t from = record.fromDevice, to = record.toDevice;
  if (record.kind == RecordKind::kCopy) {
    const std::string& name = index.trace().text(record.name);
    from = isToDevice(name) ? -1 : record.device;
    to = isToHost(name) ? -1 : record.device;
  }
  table.copy(role, index.contractOf(record), from, to, record.has(kStaged), record.bytes);
}

void addRecords(const TraceIndex& index, AffinityTable& table) {
  index.eachWork([&](const TraceRecord& record) {
    const std::string& role = index.roleOf(record);
    reports::AffinityCell& cell = table.cell(role.empty() ? "no role" : role, record.device, index.contractOf(record));
    const bool isCopy = record.kind == RecordKind::kCopy || record.kind == RecordKind::kPeerCopy;
    ++(isCopy ? cell.copies : cell.kernels);
    cell.busyNs += record.durationNs;
    // Of a contract that declares copies only, work that is none is not allowed.
    if (!isCopy && cell.allowed == kCopies) cell.allowed = kNo;
    if (isCopy) addCopy(index, record, role, table);
  });
}

}  // namespace

void addTraceParts(const std::vector<RankTrace>& traces, const PageLimits& limits, reports::CaseDetails& details) {
  TimelineBuilder timeline;
  AffinityTable table("trace");
  for (const RankTrace& each : traces) {
    const Contract* contract = each.contract ? &*each.contract : nullptr;
    const TraceIndex index(each.trace, contract);
    const TraceAudit audit = auditTrace(each.trace, contract);
    if (contract != nullptr) table.allow(*contract);
    addRecords(index, table);
    for (const TraceCheck& check : audit.checks)
      for (const Violation& violation : check.violations) table.found(check.id + " " + check.name, violation);
    timeline.add(each.rank, index, audit);
  }
  details.affinity = table.done();
  details.timeline = timeline.build(limits.barsOfCase, limits.lanes);
  if (!details.timeline) details.notices[reports::part::kTimeline] = "The trace holds no work of a device.";
}

reports::Affinity affinityOfEvents(const std::vector<RankRecord>& ranks) {
  AffinityTable table("events");
  for (const RankRecord& rank : ranks) {
    table.allow(rank.contract);
    for (const Event& event : rank.events) {
      const DriverCall* call = event.as<DriverCall>();
      if (call == nullptr || call->status != 0) continue;
      const auto rules = rank.contract.roles.find(event.head.role);
      const RoleContract* own = rules == rank.contract.roles.end() ? nullptr : &rules->second;
      const std::string role = event.head.role.empty() ? "no role" : event.head.role;
      if (call->call == "launch" && call->device >= 0) ++table.cell(role, call->device, own).kernels;
      if (call->call == "copy" && call->from && call->to)
        table.copy(role, own, *call->from, *call->to, call->staged, call->bytes);
    }
  }
  reports::Affinity affinity = table.done();
  if (affinity.cells.empty()) throwBadInput("events.jsonl", "it names no launch, and the contract no role");
  return affinity;
}

}  // namespace redraft::harness
