#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/pinned_environment.h"
#include "base/version.h"
#include "golden/golden.h"
#include "harness/run_folder.h"
#include "harness/suite.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

/// Clean but for the golden: what is there differs, is of another class, or is not there.
bool canBeBlessed(const reports::CaseResult& result) {
  using reports::Verdict;
  const auto isMismatch = [](const reports::Finding& each) { return each.id == "numerics/golden-mismatch"; };
  const bool onlyNumbers = std::all_of(result.findings.begin(), result.findings.end(), isMismatch);
  return onlyNumbers && (result.verdict == Verdict::kPassed || result.verdict == Verdict::kIncomparable ||
                         result.verdict == Verdict::kFailed);
}

class BlessCommand : public Command {
 public:
  const char* name() const override { return "bless"; }
  const char* help() const override {
    return "Make a run the golden of its scenario: shows the difference, then writes both files";
  }

  void declare(CLI::App& app) override {
    app.add_option("run", run_, "run folder, or a suite's: then every run of it whose golden is new or differs")
        ->required()
        ->type_name("RUN");
    app.add_option("--reason", reason_, "why these numbers are right; kept in the golden")
        ->required()
        ->type_name("TEXT");
    app.add_option("--repeats", repeats_,
                   "further runs of the same build, in the order they were run (suite folders, when RUN is one): how "
                   "far they are apart goes to the performance golden, for `redraft compare`")
        ->type_name("RUN");
    app.add_flag("--dry-run", dryRun_, "show the difference and write nothing");
    places_.declareGoldens(app);
  }

  int run() override {
    if (reason_.find_first_not_of(" \t\n") == std::string::npos)
      throwBadInput("--reason", "it is empty", "say why these numbers are right");
    const std::string root = goldens();
    for (const std::string& folder : runs()) blessRun(folder, root);
    return kExitAsExpected;
  }

 private:
  /// Made beside scenarios/ when there is none yet.
  std::string goldens() const {
    std::string root = places_.goldensOrEmpty();
    if (!root.empty()) return root;
    const std::filesystem::path scenarios = findScenarios("", std::filesystem::current_path().string());
    root = (scenarios.parent_path() / "golden" / "data").string();
    if (!dryRun_) makeDirectories(root);
    return root;
  }

  /// Folders to bless.
  std::vector<std::string> runs() const {
    if (!isSuiteFolder(run_)) return {run_};
    std::vector<std::string> folders;
    for (const reports::CaseResult& result : loadReportOrSuite(run_).cases) {
      const std::string folder = joinPath(run_, harness::caseFolderName(result.name));
      if (!canBeBlessed(result) || result.verdict == reports::Verdict::kPassed || !fileExists(folder)) continue;
      if (planOfRun(folder).golden == result.name) folders.push_back(folder);
    }
    if (folders.empty()) throwBadInput(run_, "no run of it has a golden of its own that is new or differs");
    return folders;
  }

  void blessRun(const std::string& folder, const std::string& root) const {
    const harness::CasePlan plan = planOfRun(folder);
    if (plan.golden != plan.name)
      throwBadInput(
          folder,
          plan.name + (plan.golden.empty() ? " has no golden" : " is compared with the golden of " + plan.golden),
          plan.golden.empty() ? "set \"golden\" in its scenario" : "bless a run of " + plan.golden);
    const reports::CaseResult result = harness::loadCaseResult(folder);
    if (!canBeBlessed(result))
      throwBadInput(folder, std::string("a run that is ") + enumName(result.verdict) + " cannot be a golden",
                    "bless a run that is clean but for its golden");
    const golden::Record record = golden::loadRecord(folder);
    const golden::RunRates rates = repeatedRates(plan.name, record);
    const golden::BlessResult preview = golden::previewBless(record, root, plan.golden);
    printOut(plan.golden + ": " + (preview.isNew ? "new" : golden::describe(preview.difference)) + "\n");
    if (dryRun_) return;
    const golden::Provenance provenance{commitText(),  "redraft bless " + folder,      reason_, harness::utcNow(),
                                        versionText(), pinnedEnvironment(plan.threads)};
    const golden::BlessResult written = golden::bless(record, root, plan.golden, provenance, rates);
    for (const std::string& file : {written.numericsFile, written.performanceFile})
      if (!file.empty()) printOut("  wrote " + file + "\n");
  }

  golden::RunRates repeatedRates(const std::string& scenario, const golden::Record& run) const {
    if (repeats_.empty()) return {};
    std::vector<golden::Record> repeats;
    for (const std::string& each : repeats_)
      repeats.push_back(
          golden::loadRun(isSuiteFolder(each) ? joinPath(each, harness::caseFolderName(scenario)) : each));
    return golden::ratesOf(run, repeats);
  }

  Places places_;
  std::vector<std::string> repeats_;
  std::string run_, reason_;
  bool dryRun_ = false;
};

}  // namespace

std::unique_ptr<Command> makeBlessCommand() { return std::make_unique<BlessCommand>(); }

}  // namespace redraft::scenarios
