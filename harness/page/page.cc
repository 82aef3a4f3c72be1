#include "harness/page/page.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "golden/golden.h"
#include "golden/run_files.h"
#include "harness/page/parts.h"
#include "harness/run_folder.h"
#include "harness/run_trace.h"
#include "harness/trace/load_trace.h"

namespace redraft::harness {
namespace {

namespace part = reports::part;

std::string provenanceText(const golden::Provenance& from) {
  return "blessed " + from.date + " at commit " + from.commit + ": " + from.reason;
}

void findNumericsGolden(const golden::Record& run, const std::string& goldens, const std::string& scenario,
                        PageGolden& golden) {
  std::vector<std::string> others;
  if (auto found = golden::findNumerics(goldens, scenario, run.numericsClass, &others)) {
    golden.name = scenario + " (" + run.numericsClass.name() + ")";
    golden.provenance = provenanceText(found->provenance);
    golden.environment = found->provenance.environment;
    golden.numerics = std::move(found->record);
  } else {
    golden.problem = "There is no golden of the class " + run.numericsClass.name() +
                     (others.empty() ? "." : "; there are " + join(others, ", ") + ".");
  }
}

PageGolden goldenOf(const golden::Record& run, const CasePlan& plan, const std::string& goldens) {
  PageGolden golden;
  golden.problem = golden.performanceProblem = "The scenario is compared with no golden.";
  if (plan.golden.empty() || goldens.empty()) return golden;
  try {
    findNumericsGolden(run, goldens, plan.golden, golden);
    golden.performanceProblem = "There is no golden of this machine's performance class.";
    if (!run.performanceClass) return golden;
    if (auto found = golden::findPerformance(goldens, plan.golden, *run.performanceClass)) {
      golden.performance = std::move(found->record);
      golden.performanceProblem = "Golden: " + run.performanceClass->name() + ", " + provenanceText(found->provenance);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    golden.problem = golden.performanceProblem = std::string("The golden cannot be read: ") + error.what();
  }
  return golden;
}

void addRecordParts(const std::string& folder, const CasePlan& plan, const PageOptions& options,
                    reports::CaseDetails& details) {
  std::optional<golden::Record> run;
  PageGolden golden;
  orNotice(details, {part::kCurves, part::kThroughput}, [&] {
    run = golden::loadMetrics(folder);
    golden = goldenOf(*run, plan, options.goldens);
    details.curves = curvesOf(*run, golden, options.limits);
    details.throughput = throughputOf(*run, golden, options.limits);
  });
  orNotice(details, {part::kGradients}, [&] {
    const golden::Record whole = golden::loadRun(folder);
    details.gradients = gradientMapOf(whole, golden, options.limits);
    if (!details.gradients) details.notices[part::kGradients] = "No step of the run kept digests of its gradients.";
  });
  orNotice(details, {part::kEnvironment}, [&] { details.environment = environmentOf(folder, run, golden); });
}

void addDeviceParts(const std::vector<RankRecord>& ranks, const std::optional<PageReference>& reference,
                    const PageLimits& limits, reports::CaseDetails& details) {
  orNotice(details, {part::kTimeline, part::kAttribution}, [&] {
    const std::vector<RankTrace> traces = tracesOf(ranks);
    if (traces.empty()) return;
    addTraceParts(traces, limits, details);
    addAttribution(traces, reference, limits, details);
  });
  const std::string none = "The run left no trace: it is written when a run ends by itself.";
  if (!details.timeline) details.notices.try_emplace(part::kTimeline, none);
  if (!details.attribution) details.notices.try_emplace(part::kAttribution, none);
  if (!details.affinity) orNotice(details, {part::kAffinity}, [&] { details.affinity = affinityOfEvents(ranks); });
}

reports::CaseDetails absent(const std::string& why) {
  reports::CaseDetails details;
  for (const char* each : {part::kCurves, part::kGradients, part::kThroughput, part::kTimeline, part::kAttribution,
                           part::kAffinity, part::kEnvironment})
    details.notices[each] = why;
  return details;
}

/// The cases, those first that most need looking at: not as expected, then those with findings, then the rest.
std::vector<const reports::CaseResult*> byNeed(const reports::SuiteResult& suite) {
  std::vector<const reports::CaseResult*> cases;
  for (const reports::CaseResult& each : suite.cases) cases.push_back(&each);
  const auto need = [](const reports::CaseResult* each) {
    return each->asExpected() ? each->findings.empty() ? 2 : 1 : 0;
  };
  std::stable_sort(cases.begin(), cases.end(), [&](const auto* a, const auto* b) { return need(a) < need(b); });
  return cases;
}

reports::CaseDetails detailsOrWhyNot(const reports::CaseResult& result, const PageOptions& options) {
  if (!fileExists(result.runFolder)) return absent("There is no run folder " + result.runFolder + ".");
  try {
    if (const std::optional<CasePlan> plan = options.planOf(result)) return caseDetails(*plan, result, options);
    return absent("The scenario of the run is not known.");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    return absent(error.what());
  }
}

}  // namespace

reports::CaseDetails caseDetails(const CasePlan& plan, const reports::CaseResult& result, const PageOptions& options) {
  reports::CaseDetails details;
  addRecordParts(result.runFolder, plan, options, details);
  std::vector<RankRecord> ranks;
  orNotice(details, {part::kTimeline, part::kAttribution, part::kAffinity, part::kEnding},
           [&] { ranks = rankRecords(result.runFolder, plan); });
  if (ranks.empty()) {
    for (const char* each : {part::kTimeline, part::kAttribution, part::kAffinity})
      details.notices.try_emplace(each, "The run left no event log.");
    return details;
  }
  const std::optional<PageReference> reference = options.referenceOf ? options.referenceOf(result) : std::nullopt;
  addDeviceParts(ranks, reference, options.limits, details);
  details.ending = endingOf(ranks, result);
  return details;
}

std::vector<RankRecord> rankRecords(const std::string& folder, const CasePlan& plan) {
  std::vector<RankRecord> ranks;
  for (int rank = 0; rank < std::max(1, plan.processes); ++rank) {
    RankRecord record;
    record.rank = rank;
    record.folder = golden::rankFolder(folder, rank);
    const std::string path = joinPath(record.folder, kEventsFile);
    if (!fileExists(path)) continue;
    record.events = readEvents(path).events;  // whole up to a problem; what it says until then is so
    record.contract = contractOfRun(plan.contract, record.events);
    ranks.push_back(std::move(record));
  }
  return ranks;
}

std::vector<RankTrace> tracesOf(const std::vector<RankRecord>& ranks) {
  std::vector<RankTrace> traces;
  for (const RankRecord& rank : ranks) {
    const std::string folder = joinPath(rank.folder, kTraceFolder);
    if (!fileExists(folder)) continue;
    Trace trace = loadTraces({folder});
    for (TraceFile& file : trace.files)  // as the findings name them
      file.path = joinPath(kTraceFolder, std::filesystem::path(file.path).filename().string());
    traces.push_back({rank.rank, std::move(trace), rank.contract});
  }
  return traces;
}

reports::PageDetails pageDetails(const reports::SuiteResult& suite, const PageOptions& options) {
  reports::PageDetails details;
  const PageLimits& limits = options.limits;
  const std::size_t shown = std::min(suite.cases.size(), limits.cases);
  PageOptions ofCase = options;
  ofCase.limits.barsOfCase = std::min(limits.barsOfCase, limits.bars / std::max<std::size_t>(1, shown));
  for (const reports::CaseResult* each : byNeed(suite)) {
    if (details.cases.size() >= shown) break;
    details.cases[each->name] = detailsOrWhyNot(*each, ofCase);
  }
  if (shown < suite.cases.size())
    details.notice = "Details are of " + std::to_string(shown) + " of " + std::to_string(suite.cases.size()) +
                     " cases: those that did not end as expected first.";
  details.trend = trendOf(suite, limits);
  return details;
}

void writePages(const std::vector<std::string>& paths, const reports::SuiteResult& suite, const PageOptions& options) {
  const std::string page = reports::printPage(suite, pageDetails(suite, options));
  for (const std::string& path : paths) writeFileAtomically(path, page);
}

}  // namespace redraft::harness
