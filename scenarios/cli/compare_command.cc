#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "golden/distance.h"
#include "golden/golden.h"
#include "golden/stored_throughput.h"
#include "reports/layout.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/compare_cases.h"
#include "scenarios/cli/compare_classes.h"
#include "scenarios/cli/run_traces.h"

namespace redraft::scenarios {
namespace {

constexpr double kError = 0.01;  // how often an interval may miss

/// A run folder, or a golden file.
golden::StoredSide sideOf(const std::string& path) {
  return std::filesystem::is_directory(path) ? golden::storedSide(golden::loadRun(path))
                                             : golden::storedSide(golden::loadGolden(path));
}

/// A line a case, and below them what stored runs could not decide.
class CaseTable {
 public:
  void add(const ComparedCase& before, const ComparedCase& now, const golden::StoredAnswer& answer) {
    const std::string rates = throughputText(before, now, answer);
    std::string change = changeOf(before, now);
    if (change.empty() && answer.verdict == golden::ThroughputVerdict::kSlower) change = "slower";
    addRow(now.name, change, rates);
    if (rates.empty()) return;
    if (answer.verdict == golden::ThroughputVerdict::kAmbiguous) ++undecided_[answer.reason];
    if (!answer.time) return;
    widest_ = std::max(widest_, answer.half);
    paired_ = std::max(paired_, answer.pairedHalf.value_or(0));
  }
  void addLone(const ComparedCase& one, const char* where) { addRow(one.name, where + one.outcome, ""); }

  bool equal() const { return equal_; }

  std::string text() const {
    std::string text;
    for (const std::string& line : reports::alignColumns(rows_, "  ", {})) text += line + "\n";
    if (widest_ > 0) {
      text += "throughput is judged from stored runs: up to ± " + reports::formatNumber(100 * widest_, 2) + " %";
      if (paired_ > 0) text += "; a bench of both by turns, about ± " + reports::formatNumber(100 * paired_, 2) + " %";
      text += "\n";
    }
    for (const auto& [reason, count] : undecided_)
      text +=
          "throughput is AMBIGUOUS in " + std::to_string(count) + (count == 1 ? " case: " : " cases: ") + reason + "\n";
    return text;
  }

 private:
  void addRow(const std::string& name, const std::string& change, const std::string& rates) {
    equal_ = equal_ && change.empty();
    rows_.push_back({change.empty() ? "same" : "DIFFERS", name, change, rates});
  }

  std::vector<std::vector<std::string>> rows_;
  std::map<std::string, int> undecided_;  // reason → cases
  double widest_ = 0, paired_ = 0;        // half of an interval, at most
  bool equal_ = true;
};

class CompareCommand : public Command {
 public:
  const char* name() const override { return "compare"; }
  const char* help() const override {
    return "Compare runs, goldens and reports: first step and gradients that differ, and whether B is slower, as far "
           "as "
           "stored runs show it";
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
    if (within_) return compareWithin();
    const auto manyCases = [](const std::string& path) { return isReport(path) || isSuiteFolder(path); };
    return manyCases(a_) || manyCases(b_) ? compareCases(manyCases(a_), manyCases(b_)) : compareRecords();
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

  /// Case by case. Beside a report a run or a golden stands for one of its cases.
  int compareCases(bool manyA, bool manyB) const {
    const std::vector<ComparedCase> a = comparedCases(a_), b = comparedCases(b_);
    if (!manyA) requireCase(b, a.front().name, b_);
    if (!manyB) requireCase(a, b.front().name, a_);
    CaseTable table;
    for (const ComparedCase& now : b) {
      const ComparedCase* before = findCase(a, now.name);
      if (before != nullptr)
        table.add(*before, now, judge(now.name, before->throughput, now.throughput));
      else if (manyA)
        table.addLone(now, "only in B: ");
    }
    for (const ComparedCase& before : a)
      if (manyB && findCase(b, before.name) == nullptr) table.addLone(before, "only in A: ");
    printOut(table.text());
    return table.equal() ? kExitAsExpected : kExitUnexpected;
  }

  static void requireCase(const std::vector<ComparedCase>& cases, const std::string& name, const std::string& report) {
    if (findCase(cases, name) == nullptr)
      throwBadInput(report, "holds no case " + name, "name a run or a golden of one of its cases");
  }

  std::string a_, b_;
  std::optional<double> within_;
  double marginPercent_ = 1;
  Places places_;
};

}  // namespace

std::unique_ptr<Command> makeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace redraft::scenarios
