#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "golden/golden.h"
#include "harness/divergence/divergence.h"
#include "harness/interrupt.h"
#include "harness/run_folder.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

std::string commitOfRun(const std::string& folder) {
  const bool says = fileExists(joinPath(folder, harness::kEnvironmentFile));
  return says ? harness::loadEnvironmentReport(folder).commit : "";
}

class DivergenceCommand : public Command {
 public:
  const char* name() const override { return "divergence"; }
  const char* help() const override {
    return "Name the first step, role, module and operation at which two runs part, by one further run of each";
  }

  void declare(CLI::App& app) override {
    app.add_option("a", a_, "run folder, or a golden's numerics file")->required()->type_name("A");
    app.add_option("b", b_, "likewise")->required()->type_name("B");
    app.add_option("--runner-a", runnerA_, "redraft-runner of the build that A is of; with it a golden is run too")
        ->type_name("PATH");
    app.add_option("--runner-b", runnerB_, "likewise, of B")->type_name("PATH");
    app.add_option("--window", window_, "most steps whose operations are recorded")
        ->type_name("STEPS")
        ->check(CLI::Range(2, 1000))
        ->capture_default_str();
    app.add_option("--out", out_, "where the further runs go")->type_name("DIR")->capture_default_str();
    app.add_flag("--json", json_, "one JSON document on standard output (redraft.divergence/1)");
    app.add_option("--html", html_,
                   "write the page of the answer to FILE too (report.html of the further runs' folder)")
        ->type_name("FILE");
    places_.declareRunner(app);
  }

  int run() override {
    harness::installInterruptHandlers();
    harness::DivergencePlan plan;
    plan.a = inputOf(a_, runnerA_);
    plan.b = inputOf(b_, runnerB_);
    plan.out = out_;
    plan.window = window_;
    giveScenario(plan.a, plan.b, runnerA_);
    giveScenario(plan.b, plan.a, runnerB_);
    for (const harness::DivergenceInput* each : {&plan.a, &plan.b})
      if (each->plan) plan.options.environment = harness::thisEnvironment(each->plan->pinning);
    const harness::DivergenceReport report = harness::findDivergence(plan);
    if (!html_.empty()) writeFileAtomically(html_, harness::divergencePage(report));
    if (json_) {
      printOut(pretty(recordToJson(report)));
    } else {
      for (const std::string& line : report.text) printOut(line + "\n");
    }
    if (harness::interrupted() != 0) return kExitInterrupted;
    return report.same ? kExitAsExpected : kExitUnexpected;
  }

 private:
  harness::DivergenceInput inputOf(const std::string& path, const std::string& runner) const {
    if (isSuiteFolder(path)) throwBadInput(path, "is a whole suite", "name the folder of one of its cases");
    harness::DivergenceInput input;
    input.path = path;
    input.golden = std::filesystem::is_regular_file(path);
    if (input.golden) {
      golden::Golden golden = golden::loadGolden(path);
      input.record = std::move(golden.record);
      input.commit = golden.provenance.commit;
      return input;
    }
    input.record = golden::loadRun(path);
    input.commit = commitOfRun(path);
    input.plan = planOfRun(path);
    input.runner = runnerOf(runner);
    return input;
  }

  std::string runnerOf(const std::string& own) const { return harness::findRunner(own.empty() ? places_.runner : own); }

  /// A golden has no scenario of its own; it is of the other side's, where its name says so.
  void giveScenario(harness::DivergenceInput& golden, const harness::DivergenceInput& other,
                    const std::string& runner) const {
    if (!golden.golden) return;
    const std::string build = golden.commit.empty() ? "the build that it was blessed with" : "commit " + golden.commit;
    if (runner.empty() || !other.plan) {
      golden.why = "it is a golden, which holds none. Give the redraft-runner of " + build + " by --runner-" +
                   (&runner == &runnerA_ ? "a" : "b") +
                   (other.plan ? "" : ", and a run folder in place of the other golden") +
                   ", or a run of it in place of the golden";
      return;
    }
    golden.plan = cleanPlanOfRun(other.path);
    golden.runner = runnerOf(runner);
  }

  Places places_;
  std::string a_, b_, runnerA_, runnerB_, html_, out_ = "runs";
  std::int64_t window_ = 8;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDivergenceCommand() { return std::make_unique<DivergenceCommand>(); }

}  // namespace redraft::scenarios
