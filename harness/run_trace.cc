#include "harness/run_trace.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "harness/run_folder.h"
#include "harness/trace/load_trace.h"

namespace redraft::harness {
namespace {

constexpr std::string_view kRefused = "refused ";

std::string titleOf(const TraceCheck& check) { return check.id + " " + check.name; }

const std::vector<TraceCheck>& checksOf(const RunTrace& trace) {
  static const std::vector<TraceCheck> kNone;
  return trace.audit ? trace.audit->checks : kNone;
}

void noteOnce(std::vector<reports::NotComputable>& notes, reports::NotComputable note) {
  const auto same = [&note](const reports::NotComputable& other) { return other.id == note.id; };
  if (std::none_of(notes.begin(), notes.end(), same)) notes.push_back(std::move(note));
}

std::vector<RefusedCall> refusedCalls(const Trace& trace) {
  std::vector<RefusedCall> refused;
  for (const TraceRecord& record : trace.records) {
    const std::string& name = trace.text(record.name);
    if (record.kind != RecordKind::kApi || !name.starts_with(kRefused)) continue;
    const std::string& why = trace.text(record.detail);  // the status, a colon, and what the driver said
    refused.push_back(
        {why.substr(0, why.find(':')), trace.text(record.role), record.step,
         trace.files[record.file].path + ": record " + std::to_string(record.index) + ", " + name + ", " + why});
  }
  return refused;
}

const RunBegin* beginOf(const std::vector<Event>& events) {
  return events.empty() ? nullptr : events.front().as<RunBegin>();
}

/// Files by their names in the run folder.
void shortenPaths(Trace& trace) {
  for (TraceFile& file : trace.files)
    file.path = joinPath(kTraceFolder, std::filesystem::path(file.path).filename().string());
}

}  // namespace

std::string gateProblem(const TraceAudit& audit) {
  for (const TraceCheck& check : audit.gate)
    if (check.state == AuditState::kFound)
      return titleOf(check) + ": " + (check.violations.empty() ? check.title : check.violations.front().message);
  for (const TraceCheck& check : audit.gate)
    if (check.state == AuditState::kNotComputable && check.id != kCanaryCheck)
      return titleOf(check) + " cannot be told: " + check.reason;
  return "";
}

Contract contractOfRun(const Contract& planned, const std::vector<Event>& events) {
  const RunBegin* begin = beginOf(events);
  if (begin == nullptr) return planned;
  Contract contract = placedOn(planned, begin->placement);
  if (!begin->roles.empty())
    std::erase_if(contract.roles, [&](const auto& entry) {
      return std::find(begin->roles.begin(), begin->roles.end(), entry.first) == begin->roles.end();
    });
  return contract;
}

RunTrace auditRunTrace(const std::string& runFolder, const Contract& planned, const std::vector<Event>& events) {
  RunTrace result;
  const std::string folder = joinPath(runFolder, kTraceFolder);
  result.absent = !fileExists(folder);
  if (result.absent) {
    const RunBegin* begin = beginOf(events);
    if (begin == nullptr || begin->traced) result.problem = "the run left no trace";
    return result;
  }
  try {
    Trace trace = loadTraces({folder});
    shortenPaths(trace);
    const Contract contract = contractOfRun(planned, events);
    result.audit = auditTrace(trace, &contract);
    result.refused = refusedCalls(trace);
    result.problem = gateProblem(*result.audit);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    result.problem = std::string("it cannot be read: ") + error.what();
  }
  return result;
}

std::string problemOf(const std::map<int, RunTrace>& ranks) {
  for (const auto& [rank, trace] : ranks)
    if (!trace.problem.empty()) return (ranks.size() > 1 ? "rank " + std::to_string(rank) + ": " : "") + trace.problem;
  return "";
}

reports::AuditSummary summaryOf(const std::map<int, RunTrace>& ranks) {
  using reports::AuditOutcome;
  reports::AuditSummary summary;
  summary.reason = problemOf(ranks);
  std::map<std::string, std::size_t> clean;  // in how many
  bool absent = true;
  for (const auto& [rank, trace] : ranks) {
    absent &= trace.absent;
    const std::string where = ranks.size() > 1 ? " on rank " + std::to_string(rank) : "";
    for (const TraceCheck& check : checksOf(trace)) {
      if (check.state == AuditState::kFound)
        summary.found.push_back(titleOf(check) + " (" + std::to_string(check.count) + ")" + where);
      if (check.state == AuditState::kClean && ++clean[check.id] == ranks.size()) summary.clean.push_back(check.id);
      if (!check.reason.empty()) noteOnce(summary.notComputable, {check.id, check.name, check.reason});
    }
  }
  if (absent && summary.reason.empty()) summary.reason = "the run was told to record none";
  summary.outcome = absent                    ? AuditOutcome::kAbsent
                    : !summary.reason.empty() ? AuditOutcome::kInvalid
                    : !summary.found.empty()  ? AuditOutcome::kFound
                                              : AuditOutcome::kClean;
  return summary;
}

}  // namespace redraft::harness
