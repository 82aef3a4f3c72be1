#pragma once
// The folder that a run leaves (docs/formats.md, "Run folder").

#include <optional>
#include <string>
#include <vector>

#include "golden/run_files.h"
#include "harness/case_plan.h"

namespace redraft::harness {

inline constexpr const char* kScenarioFile = "scenario.resolved.json";
inline constexpr const char* kEnvironmentFile = "environment.json";
inline constexpr const char* kTokenFile = "schedule.token";
inline constexpr const char* kEventsFile = "events.jsonl";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kMemoryFile = "memory.json";
inline constexpr const char* kTraceFolder = "trace";
inline constexpr const char* kLogFile = "runner.log";
inline constexpr const char* kResultFile = "result.json";

/// Lays a new run folder. Throws Error(kBadInput) when a source of data is missing, Error(kEnvironment) when the disk
/// refuses, or when the folder is there already.
void prepareRunFolder(const std::string& folder, const CasePlan& plan, const golden::EnvironmentReport& environment);

/// Data as files of the run's own, so that an edit of one changes no other run: clones where the file system knows
/// such, else copies. A file beyond 64 MiB that cannot be cloned is a hard link. Folders whole.
void layData(const DataLink& link, const std::string& folder);

/// Throws Error(kBadInput).
golden::EnvironmentReport loadEnvironmentReport(const std::string& folder);

/// nullopt when there is none. Throws Error(kBadInput) when it is no memory report.
std::optional<golden::MemoryReport> loadMemoryReport(const std::string& folder);

/// Throws Error(kBadInput).
reports::CaseResult loadCaseResult(const std::string& folder);

/// The last lines of runner.log.
std::vector<std::string> logTail(const std::string& folder, std::size_t lines);

}  // namespace redraft::harness
