#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "golden/distance.h"
#include "golden/golden.h"
#include "golden/stored_throughput.h"
#include "reports/layout.h"
#include "reports/result.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/compare_classes.h"
#include "scenarios/cli/run_traces.h"

namespace redraft::scenarios {
namespace {

std::string outcomeOf(const reports::CaseResult& result) {
  return std::string(enumName(result.verdict)) + (result.findings.empty() ? "" : " " + result.findings.front().id);
}

/// What changed between two results of one scenario; "" when nothing did.
std::string changeOf(const reports::CaseResult& before, const reports::CaseResult& now) {
  if (outcomeOf(before) != outcomeOf(now)) return outcomeOf(before) + " → " + outcomeOf(now);
  if (before.digest != now.digest) return "other numbers";
  return "";
}

constexpr double kError = 0.01;  // how often an interval may miss

std::string throughputOf(const reports::CaseResult& before, const reports::CaseResult& now,
                         const golden::StoredAnswer& answer) {
  const auto a = before.figures.tokensPerSecond.find("all"), b = now.figures.tokensPerSecond.find("all");
  if (a == before.figures.tokensPerSecond.end() || b == now.figures.tokensPerSecond.end() || a->second <= 0) return "";
  return reports::formatRate(a->second) + " → " + reports::formatRate(b->second) + " (" +
         reports::formatNumber(b->second / a->second, 3) + " ×) " + golden::verdictName(answer.verdict);
}

/// A run folder, or a golden file.
golden::StoredSide sideOf(const std::string& path) {
  return std::filesystem::is_directory(path) ? golden::storedSide(golden::loadRun(path))
                                             : golden::storedSide(golden::loadGolden(path));
}

/// Of a stored report's case: a report does not say on which machine it ran, its run folder does.
golden::StoredSide sideOf(const reports::CaseResult& result) {
  golden::StoredSide side;
  const auto all = result.figures.tokensPerSecond.find("all");
  if (all != result.figures.tokensPerSecond.end() && all->second > 0) side.rates = {all->second};
  try {
    side.performanceClass = golden::loadRun(result.runFolder).performanceClass;
  } catch (const Error&) {  // the folder is gone, or the run left no whole record: its machine is not known
  }
  return side;
}

class CompareCommand : public Command {
 public:
  const char* name() const override { return "compare"; }
  const char* help() const override {
    return "Compare two runs, two goldens, one of each, or two reports: first step and gradients that differ, and "
           "whether B is slower, as far as stored runs show it";
  }

  void declare(CLI::App& app) override {
    app.add_option("a", a_, "run folder, golden file, report.json or suite folder")->required()->type_name("A");
    app.add_option("b", b_, "likewise")->required()->type_name("B");
    app.add_option(
           "--within", within_,
           "of two classes, a GPU and the CPU say: relative distances a step; exit 1 when the first step's exceed "
           "this (docs/goldens.md, \"Across classes\")")
        ->type_name("X")
        ->check(CLI::PositiveNumber);
    app.add_option("--margin", marginPercent_, "percent that a difference of throughput has to reach to matter")
        ->check(CLI::Range(0.01, 50.0))
        ->capture_default_str();
    places_.declareGoldens(app);
    places_.declareScenarios(app);
  }

  int run() override {
    const bool reportA = isReport(a_) || isSuiteFolder(a_), reportB = isReport(b_) || isSuiteFolder(b_);
    if (reportA != reportB)
      throwBadInput(reportA ? b_ : a_, "cannot be compared with a report",
                    "compare two reports, or two runs or goldens");
    if (within_) return compareWithin();
    return reportA ? compareReports() : compareRecords();
  }

 private:
  int compareRecords() const {
    const golden::Record a = golden::loadRecord(a_), b = golden::loadRecord(b_);
    if (!a.steps.empty() && !b.steps.empty() && !(a.numericsClass == b.numericsClass))
      if (const auto across = compareClasses(a_, b_, places_)) return reportClasses(*across);
    const golden::NumericsComparison numbers = golden::compareNumerics(a, b);
    const golden::StoredAnswer throughput = judge(a.scenario, sideOf(a_), sideOf(b_));
    printOut(golden::describe(numbers) + "\n" + golden::describe(golden::compareThroughput(a, b)) +
             golden::describe(throughput) + "\n");
    if (const auto attribution = attributionOf(a_, b_)) printOut(*attribution);
    const bool fine = numbers.outcome == golden::Outcome::kEqual && !isSlower(throughput);
    return fine ? kExitAsExpected : kExitUnexpected;
  }

  static bool isSlower(const golden::StoredAnswer& answer) {
    return answer.verdict == golden::ThroughputVerdict::kSlower;
  }

  /// By the spread that the scenario's golden of this machine holds, and that of the sides' own runs.
  golden::StoredAnswer judge(const std::string& scenario, const golden::StoredSide& a,
                             const golden::StoredSide& b) const {
    std::vector<golden::Rates> recorded;
    const std::string root = places_.goldensOrEmpty();
    const auto golden = root.empty() || !a.performanceClass
                            ? std::nullopt
                            : golden::findPerformance(root, scenario, *a.performanceClass);
    if (golden && golden->runRates.contains("all")) recorded.push_back(golden->runRates.at("all"));
    return golden::compareStored(a, b, recorded, marginPercent_ / 100, kError);
  }

  static int reportClasses(const golden::AcrossComparison& across) {
    printOut(golden::describe(across));
    return across.outcome == golden::Outcome::kEqual ? kExitAsExpected : kExitUnexpected;
  }

  /// Of the first step alone is a bound known: from the second on the parameters differ too.
  int compareWithin() const {
    const auto steps = golden::distances(golden::loadRecord(a_), golden::loadRecord(b_));
    const double first = steps.front().largest();
    const bool within = first <= *within_;
    printOut(golden::describe(steps) + "first step: at most " + reports::formatNumber(first, 2) + " apart, " +
             (within ? "within " : "more than ") + reports::formatNumber(*within_, 2) + "\n");
    return within ? kExitAsExpected : kExitUnexpected;
  }

  int compareReports() const {
    const reports::SuiteResult a = loadReportOrSuite(a_), b = loadReportOrSuite(b_);
    std::map<std::string, const reports::CaseResult*> before;
    for (const reports::CaseResult& each : a.cases) before[each.name] = &each;
    std::vector<std::vector<std::string>> rows;
    bool equal = true, undecided = false;
    const auto add = [&](const std::string& name, const std::string& change, const std::string& throughput) {
      equal = equal && change.empty();
      rows.push_back({change.empty() ? "same" : "DIFFERS", name, change, throughput});
    };
    for (const reports::CaseResult& now : b.cases) {
      const auto found = before.find(now.name);
      if (found == before.end()) {
        add(now.name, "only in B: " + outcomeOf(now), "");
        continue;
      }
      const golden::StoredAnswer throughput = judge(now.name, sideOf(*found->second), sideOf(now));
      const std::string rates = throughputOf(*found->second, now, throughput);
      undecided = undecided || (!rates.empty() && !throughput.time);
      std::string change = changeOf(*found->second, now);
      if (change.empty() && isSlower(throughput)) change = "slower " + golden::ratioText(*throughput.time);
      add(now.name, change, rates);
      before.erase(found);
    }
    for (const auto& [name, result] : before) add(name, "only in A: " + outcomeOf(*result), "");
    for (const std::string& line : reports::alignColumns(rows, "  ", {})) printOut(line + "\n");
    if (undecided)
      printOut(
          "throughput is AMBIGUOUS where the run folders are gone, or no golden of this machine holds how far repeated "
          "runs are apart: `redraft bless RUN --repeats RUN…` records it, and `redraft bench` needs no such record\n");
    return equal ? kExitAsExpected : kExitUnexpected;
  }

  std::string a_, b_;
  std::optional<double> within_;
  double marginPercent_ = 1;
  Places places_;
};

}  // namespace

std::unique_ptr<Command> makeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace redraft::scenarios
