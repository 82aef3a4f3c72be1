#include "harness/affinity/trace_index.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "harness/trace/decimal.h"

namespace redraft::harness {
namespace {

const std::string kNobody;
constexpr std::string_view kStepRange = "ProfilerStep#";

}  // namespace

TraceIndex::TraceIndex(const Trace& trace, const Contract* contract)
    : trace_(trace), contract_(contract), counts_(kRecordKinds) {
  if (trace.records.size() >= kNone) throwBadInput(trace.files.front().path, "holds more records than can be audited");
  for (std::size_t file = 0; file < trace.files.size(); ++file) {
    const CaptureInfo& capture = trace.files[file].capture;
    // Files that say nothing are of processes of their own.
    processes_.push_back(capture.source.empty() ? -1 - static_cast<std::int64_t>(file) : capture.process);
  }
  for (const TraceRecord& record : trace.records) {
    ++counts_[static_cast<std::size_t>(record.kind)];
    hasSteps_ |= record.step >= 0;
    hasRoles_ |= record.role != 0;
  }
  indexCalls();
  indexSteps();
  indexRoles();
}

std::size_t TraceIndex::numberOf(const TraceRecord& record) const {
  const std::less<const TraceRecord*> before;
  const TraceRecord* first = trace_.records.data();
  if (before(&record, first) || !before(&record, first + trace_.records.size())) return trace_.records.size();
  return static_cast<std::size_t>(&record - first);
}

void TraceIndex::indexCalls() {
  calls_ = CorrelationTable(count(RecordKind::kApi));
  for (std::uint32_t i = 0; i < trace_.records.size(); ++i) {
    const TraceRecord& call = trace_.records[i];
    if (call.kind != RecordKind::kApi || call.correlation < 0) continue;
    CorrelationTable::Entry& entry = calls_.at(processOf(call), call.correlation);
    if (entry.correlation < 0) {
      entry = {processOf(call), call.correlation, i, i, false};
      continue;
    }
    if (trace_.records[entry.last].has(kDriverApi) == call.has(kDriverApi)) ambiguous_.push_back(&call);
    entry.last = i;
  }
  callOf_.assign(trace_.records.size() + 1, kNone);
  for (std::uint32_t i = 0; i < trace_.records.size(); ++i) {
    const TraceRecord& record = trace_.records[i];
    if (record.correlation < 0 || record.kind == RecordKind::kApi) continue;
    CorrelationTable::Entry& entry = calls_.at(processOf(record), record.correlation);
    if (entry.correlation < 0) continue;
    callOf_[i] = entry.first;
    entry.hasWork |= isDeviceWork(record.kind);
  }
}

bool TraceIndex::hasWork(const TraceRecord& call) const {
  return call.correlation >= 0 && calls_.at(processOf(call), call.correlation).hasWork;
}

void TraceIndex::indexSteps() {
  each(RecordKind::kAnnotation, [&](const TraceRecord& range) {
    const std::string& name = trace_.text(range.name);
    if (!name.starts_with(kStepRange)) return;
    const auto step = parseInteger(std::string_view(name).substr(kStepRange.size()));
    if (step) ranges_[range.file].push_back({range.startNs, range.endNs(), *step});
  });
  for (auto& [file, ranges] : ranges_)
    std::sort(ranges.begin(), ranges.end(), [](const StepRange& a, const StepRange& b) { return a.begin < b.begin; });
  hasSteps_ |= !ranges_.empty();
  steps_.assign(trace_.records.size() + 1, -1);
  if (!hasSteps_) return;
  for (std::size_t i = 0; i < trace_.records.size(); ++i) {
    const TraceRecord& record = trace_.records[i];
    const TraceRecord* call = isDeviceWork(record.kind) ? callOf(record) : &record;
    steps_[i] = record.step >= 0 ? record.step : call == nullptr ? -1 : stepAt(*call);
  }
}

std::int64_t TraceIndex::stepAt(const TraceRecord& call) const {
  if (call.step >= 0) return call.step;
  const auto ranges = ranges_.find(call.file);
  if (ranges == ranges_.end()) return -1;
  const auto next = std::upper_bound(ranges->second.begin(), ranges->second.end(), call.startNs,
                                     [](std::int64_t at, const StepRange& range) { return at < range.begin; });
  if (next == ranges->second.begin() || call.startNs >= std::prev(next)->end) return -1;
  return std::prev(next)->step;
}

TraceIndex::Role TraceIndex::roleNamed(const std::string& name) const {
  if (contract_ == nullptr) return {&name};
  const auto found = contract_->roles.find(name);
  return {&name, found == contract_->roles.end() ? nullptr : &found->second};
}

TraceIndex::Role TraceIndex::roleOfThread(const TraceRecord& call) const {
  const auto& names = trace_.files[call.file].threadNames;
  const auto name = names.find(call.thread);
  for (const auto& [role, of] : contract_->roles) {
    bool claims = std::find(of.threads.begin(), of.threads.end(), call.thread) != of.threads.end();
    for (const std::string& glob : of.threadNames) claims |= name != names.end() && globMatch(glob, name->second);
    if (claims) return {&role, &of};
  }
  for (const auto& [role, of] : contract_->roles)
    if (of.unclaimed) return {&role, &of};
  return {&kNobody};
}

void TraceIndex::indexRoles() {
  std::map<StringId, Role> named;
  std::map<std::pair<std::uint16_t, std::int64_t>, Role> ofThreads;
  roles_.assign(trace_.records.size() + 1, {&kNobody});
  for (std::size_t i = 0; i < trace_.records.size(); ++i) {
    const TraceRecord& record = trace_.records[i];
    const TraceRecord* call = isDeviceWork(record.kind) ? callOf(record) : &record;
    const StringId own = record.role != 0 ? record.role : call != nullptr ? call->role : 0;
    if (own != 0) {
      roles_[i] = named.try_emplace(own, roleNamed(trace_.text(own))).first->second;
    } else if (contract_ != nullptr) {
      const TraceRecord& actor = call != nullptr ? *call : record;
      const auto known = ofThreads.find({actor.file, actor.thread});
      roles_[i] = known != ofThreads.end()
                      ? known->second
                      : ofThreads.emplace(std::pair{actor.file, actor.thread}, roleOfThread(actor)).first->second;
    }
  }
}

bool TraceIndex::captured(RecordKind kind) const {
  if (count(kind) > 0) return true;
  return !trace_.files.empty() && std::all_of(trace_.files.begin(), trace_.files.end(),
                                              [&](const TraceFile& file) { return file.captured(kind); });
}

}  // namespace redraft::harness
