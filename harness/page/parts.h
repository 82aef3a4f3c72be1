#pragma once
// The parts of a page, each from what one run left. A part that has nothing to show is absent; why is thrown as
// Error(kBadInput) or noted in CaseDetails::notices.

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "golden/record.h"
#include "harness/events.h"
#include "harness/page/page.h"
#include "harness/timing/time_split.h"
#include "harness/trace/trace.h"

namespace redraft::harness {

/// The golden of a run's class, where there is one.
struct PageGolden {
  std::optional<golden::Record> numerics, performance;
  std::string name;                                // "dual-drafter (sim-avx2…)"
  std::string provenance;                          // "blessed 2026-11-29 at 1a2b3c: REASON"
  std::map<std::string, std::string> environment;  // variables
  std::string problem;                             // why there is no numerics
  std::string performanceProblem;
};

reports::Curves curvesOf(const golden::Record& run, const PageGolden& golden, const PageLimits& limits);

/// nullopt: no step of the run kept digests.
std::optional<reports::GradientMap> gradientMapOf(const golden::Record& run, const PageGolden& golden,
                                                  const PageLimits& limits);
reports::Throughput throughputOf(const golden::Record& run, const PageGolden& golden, const PageLimits& limits);

/// environment.json of the run folder, and the run's classes, beside the golden's.
reports::EnvironmentView environmentOf(const std::string& folder, const std::optional<golden::Record>& run,
                                       const PageGolden& golden);

/// What one process of a run left.
struct RankRecord {
  int rank = 0;
  std::string folder;
  std::vector<Event> events;
  Contract contract;  // where its events say that the devices are
};

/// The processes of a run; of one without an event log there is none.
std::vector<RankRecord> rankRecords(const std::string& folder, const CasePlan& plan);

/// A process's trace, and what it may do. Without a contract the checks that need one are not made.
struct RankTrace {
  int rank = 0;
  Trace trace;
  std::optional<Contract> contract;
};
std::vector<RankTrace> tracesOf(const std::vector<RankRecord>& ranks);

/// Timeline and affinity of the traces; the audit is made again, for the records that it points to.
void addTraceParts(const std::vector<RankTrace>& traces, const PageLimits& limits, reports::CaseDetails& details);

/// What the times of a trace are compared with.
struct TimeReference {
  std::string name;
  TimeSplit split;
};
reports::Attribution attributionOf(const TimeSplit& split, const std::optional<TimeReference>& reference,
                                   const PageLimits& limits);
/// Of all processes' traces together. A reference that cannot be read is a note.
void addAttribution(const std::vector<RankTrace>& traces, const std::optional<PageReference>& reference,
                    const PageLimits& limits, reports::CaseDetails& details);

/// Launches and copies between devices as the events have them, for a run that left no trace.
reports::Affinity affinityOfEvents(const std::vector<RankRecord>& ranks);

/// Where each role was, what was thrown or refused, and the stacks. nullopt: the run ended by itself, and nothing was.
std::optional<reports::Ending> endingOf(const std::vector<RankRecord>& ranks, const reports::CaseResult& result);

/// All parts of one run.
reports::CaseDetails caseDetails(const CasePlan& plan, const reports::CaseResult& result, const PageOptions& options);

/// Runs `make`; what the user's files are to blame for becomes the notice of `parts`.
template <class Make>
void orNotice(reports::CaseDetails& details, std::initializer_list<const char*> parts, Make make) {
  try {
    make();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    for (const char* each : parts) details.notices.try_emplace(each, error.what());
  }
}

/// The suites beside this one, up to it.
reports::Trend trendOf(const reports::SuiteResult& suite, const PageLimits& limits);

/// At most `kept` of `count` places, evenly spread, the first and the last among them.
std::vector<std::size_t> evenlySpread(std::size_t count, std::size_t kept);

}  // namespace redraft::harness
