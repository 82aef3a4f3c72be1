#include "harness/page/single.h"

#include "base/files.h"
#include "base/text.h"
#include "harness/page/parts.h"
#include "harness/run_folder.h"
#include "harness/trace/load_trace.h"
#include "reports/html/single_page.h"

namespace redraft::harness {
namespace {

/// Of a run whose folder holds no verdict, as far as its events show: what never said that it ended was cut short.
reports::CaseResult resultOfEvents(const std::string& folder) {
  reports::CaseResult result;
  result.verdict = reports::Verdict::kPassed;
  const std::string events = joinPath(folder, kEventsFile);
  if (!fileExists(events)) return result;
  reports::CaseDetails saidLater;  // what is broken is a notice of its part
  orNotice(saidLater, {}, [&] {
    const EventLog log = readEvents(events);
    if (log.events.empty()) return;
    const Event& last = log.events.back();
    result.figures.seconds = static_cast<double>(last.head.nanos) * 1e-9;
    if (last.as<RunEnd>() == nullptr) result.verdict = reports::Verdict::kCrashed;
  });
  return result;
}

std::string printed(const std::string& name, const std::string& about, const reports::CaseDetails& details,
                    const std::optional<reports::CaseResult>& result) {
  Json data{{"name", name}, {"about", about}, {"details", recordToJson(details)}};
  if (result) data["result"] = reports::caseForPage(*result);
  return reports::printSinglePage({reports::single::kRun, name, name + "\n" + about + "\n", std::move(data)});
}

}  // namespace

std::string runPage(const std::string& folder, const CasePlan& plan, const PageOptions& options) {
  PageOptions ofOne = options;
  ofOne.limits.barsOfCase = options.limits.bars;
  std::optional<reports::CaseResult> judged;
  if (fileExists(joinPath(folder, kResultFile))) judged = loadCaseResult(folder);
  reports::CaseResult result = judged ? *judged : resultOfEvents(folder);
  result.runFolder = folder;  // it may have been moved
  return printed(plan.name, plan.description, caseDetails(plan, result, ofOne), judged);
}

std::string tracePage(const std::string& name, const std::vector<std::string>& paths,
                      const std::optional<PageReference>& reference, const PageLimits& limits) {
  std::vector<RankTrace> traces;
  traces.push_back({0, loadTraces(paths), std::nullopt});
  std::vector<std::string> about;
  for (const TraceFile& file : traces.front().trace.files)
    for (const auto& [device, text] : file.deviceNames)
      about.push_back("device " + std::to_string(device) + ": " + printable(text));
  reports::CaseDetails details;
  PageLimits ofOne = limits;
  ofOne.barsOfCase = limits.bars;
  addTraceParts(traces, ofOne, details);
  addAttribution(traces, reference, ofOne, details);
  return printed(name, join(about, ", "), details, std::nullopt);
}

}  // namespace redraft::harness
