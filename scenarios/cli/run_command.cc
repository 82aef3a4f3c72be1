#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/error.h"
#include "harness/interrupt.h"
#include "harness/suite.h"
#include "reports/printers.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

struct RunOptions {
  std::vector<std::string> filters;
  std::optional<int> processes;  // absent: each scenario's own
  int jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  std::string shard = "1/1";
  std::string token;
  std::string backend;  // "": each scenario's own
  std::string out = "runs";
  std::string junit, markdown;
  bool keep = false;
  bool capture = true;
  bool json = false;
  bool allowSkipped = false;
};

class RunCommand : public Command {
 public:
  const char* name() const override { return "run"; }
  const char* help() const override { return "Run the scenario suite, or a part of it"; }

  void declare(CLI::App& app) override {
    app.add_option("scenarios,--filter", options_.filters,
                   "whole names or globs; '*' crosses '/' (default: every scenario, with the twins)")
        ->type_name("GLOB");
    jobs_ =
        app.add_option("--jobs", options_.jobs, "cases at a time (default on cuda: 1, so that times mean something)")
            ->type_name("N")
            ->check(CLI::Range(1, 256))
            ->capture_default_str();
    app.add_option("--processes", options_.processes,
                   "share the drafters and targets of a run out to N processes (default: as the scenario says)")
        ->type_name("N")
        ->check(CLI::Range(1, 64));
    app.add_option("--shard", options_.shard, "the i-th of n parts of the selection")->type_name("i/n");
    app.add_option("--schedule", options_.token, "run the scenario of this token, with its seed")->type_name("TOKEN");
    app.add_option("--backend", options_.backend, "run the selection on these devices (default: each scenario's own)")
        ->check(CLI::IsMember({"sim", "cuda"}));
    app.add_flag("!--no-capture", options_.capture, "on cuda: do not capture what the devices do (no trace/)");
    app.add_option("--out", options_.out, "where run folders go")->type_name("DIR")->capture_default_str();
    app.add_option("--junit", options_.junit, "write JUnit XML here too")->type_name("FILE");
    app.add_option("--markdown", options_.markdown, "write the Markdown summary here too")->type_name("FILE");
    app.add_flag("--json", options_.json, "one JSON document on standard output, everything else on standard error");
    app.add_flag("--allow-skipped", options_.allowSkipped, "exit 0 although this machine could not run every case");
    app.add_flag("--keep", options_.keep, "never remove this suite's folder (others go beyond 20 suites or 2 GiB)");
    places_.declareGoldens(app);
    places_.declareScenarios(app);
    places_.declareRunner(app);
  }

  int run() override {
    harness::installInterruptHandlers();
    removeOldReports();
    const harness::Shard shard = harness::parseShard(options_.shard);
    std::vector<Scenario> selected = selectScenarios(places_.loadScenarios(), options_.filters);
    if (!options_.backend.empty()) moveTo(options_.backend, selected);
    if (!options_.token.empty()) selected = applyToken(selected, options_.token);
    if (options_.processes) shareOut(*options_.processes, selected);
    std::vector<harness::CasePlan> plans;
    for (const Scenario& scenario : selected) plans.push_back(planOf(scenario));
    plans = harness::selectShard(plans, shard);
    const bool onGpus =
        std::any_of(selected.begin(), selected.end(), [](const Scenario& each) { return each.backend == "cuda"; });
    if (onGpus && jobs_->count() == 0) options_.jobs = 1;
    return report(harness::runSuite(plans, suiteOptions()));
  }

 private:
  /// A report of an earlier run must not be taken for this one's, whatever happens from here on.
  void removeOldReports() const {
    for (const std::string& file : {options_.junit, options_.markdown}) {
      std::error_code error;
      std::filesystem::remove(file, error);
      if (error && !file.empty()) throw Error(ErrorKind::kEnvironment, file, "cannot be replaced: " + error.message());
    }
  }

  harness::SuiteOptions suiteOptions() const {
    harness::SuiteOptions suite;
    suite.out = options_.out;
    suite.jobs = options_.jobs;
    suite.keep = options_.keep;
    suite.files = {options_.junit, options_.markdown};
    suite.cases = places_.caseOptions();
    if (!options_.capture) suite.cases.supervisor.options = {"--no-capture"};
    suite.terminal = errorIsTerminal();
    return suite;
  }

  int report(const reports::SuiteResult& suite) const {
    printOut(options_.json ? reports::printJson(suite) : reports::printConsole(suite, {outputIsTerminal()}));
    if (harness::interrupted() != 0) return kExitInterrupted;
    return reports::allAsExpected(suite, options_.allowSkipped) ? kExitAsExpected : kExitUnexpected;
  }

  RunOptions options_;
  CLI::Option* jobs_ = nullptr;
  Places places_;
};

}  // namespace

std::unique_ptr<Command> makeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace redraft::scenarios
