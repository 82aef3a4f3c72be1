#include "scenarios/cli/compare_cases.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "golden/compare.h"
#include "golden/golden.h"
#include "golden/quantile.h"
#include "harness/case_runner.h"
#include "harness/run_folder.h"
#include "reports/layout.h"
#include "scenarios/cli/common.h"

namespace redraft::scenarios {
namespace {

constexpr const char* kAll = "all";

std::string outcomeOf(const reports::CaseResult& result) {
  return std::string(enumName(result.verdict)) + (result.findings.empty() ? "" : " " + result.findings.front().id);
}

ComparedCase caseOf(const reports::CaseResult& result) {
  ComparedCase one{result.name, outcomeOf(result), result.digest, {result.figures.numericsClass}, {}};
  const auto all = result.figures.tokensPerSecond.find(kAll);
  if (all != result.figures.tokensPerSecond.end() && all->second > 0) one.throughput.rates = {all->second};
  if (!result.figures.performanceClass.empty())
    one.throughput.performanceClass = golden::PerformanceClass{result.figures.performanceClass};
  if (one.throughput.performanceClass || result.runFolder.empty()) return one;
  try {  // a report of before reports said it: the run folder does, while it is there
    const golden::Record run = golden::loadRun(result.runFolder);
    one.throughput.performanceClass = run.performanceClass;
    one.numericsClass = run.numericsClass;
  } catch (const Error&) {  // gone, or no whole record: not known
  }
  return one;
}

ComparedCase caseOf(const golden::Golden& golden) {
  ComparedCase one{golden.record.scenario, "", "", golden.record.numericsClass, golden::storedSide(golden)};
  if (!golden.record.steps.empty()) one.digest = harness::digestOf(golden.record);
  return one;
}

}  // namespace

std::vector<ComparedCase> comparedCases(const std::string& path) {
  std::vector<ComparedCase> cases;
  if (isReport(path) || isSuiteFolder(path)) {
    for (const reports::CaseResult& each : loadReportOrSuite(path).cases) cases.push_back(caseOf(each));
  } else if (std::filesystem::is_directory(path)) {
    cases.push_back(caseOf(harness::loadCaseResult(path)));
  } else {
    cases.push_back(caseOf(golden::loadGolden(path)));
  }
  return cases;
}

const ComparedCase* findCase(const std::vector<ComparedCase>& cases, const std::string& name) {
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const ComparedCase& each) { return each.name == name; });
  return found == cases.end() ? nullptr : &*found;
}

std::string changeOf(const ComparedCase& before, const ComparedCase& now) {
  if (!before.outcome.empty() && !now.outcome.empty() && before.outcome != now.outcome)
    return before.outcome + " → " + now.outcome;
  if (before.digest.empty() || now.digest.empty() || before.digest == now.digest) return "";
  const bool known = !before.numericsClass.fields.empty() && !now.numericsClass.fields.empty();
  const bool another = known && !(before.numericsClass == now.numericsClass);
  return another
             ? "other numbers, of another class: " + golden::classDifference(before.numericsClass, now.numericsClass)
             : "other numbers";
}

std::string throughputText(const ComparedCase& before, const ComparedCase& now, const golden::StoredAnswer& answer) {
  if (before.throughput.rates.empty() || now.throughput.rates.empty()) return "";
  const double a = golden::medianOf(before.throughput.rates), b = golden::medianOf(now.throughput.rates);
  return reports::formatRate(a) + " → " + reports::formatRate(b) + " (" + reports::formatNumber(b / a, 3) + " ×) " +
         golden::verdictName(answer.verdict) + (answer.time ? " " + golden::ratioText(*answer.time) : "");
}

}  // namespace redraft::scenarios
