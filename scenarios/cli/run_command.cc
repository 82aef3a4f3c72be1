#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "harness/interrupt.h"
#include "harness/suite.h"
#include "reports/printers.h"
#include "scenarios/cli/bless_runs.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/pages.h"
#include "scenarios/cli/plan.h"
#include "scenarios/cli/report_outputs.h"
#include "scenarios/spec/layout.h"

namespace redraft::scenarios {
namespace {

struct RunOptions {
  std::vector<std::string> filters;
  std::optional<int> processes;  // absent: each scenario's own
  int jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  std::string shard = "1/1";
  std::string token;
  std::string isa;             // "": each scenario's own
  std::optional<int> threads;  // absent: each scenario's own
  std::string backend;         // "": each scenario's own
  std::string topology;        // file that lays the scenarios out; "": as each says
  std::string out = "runs";
  std::vector<std::string> formats;  // NAME or NAME=FILE
  std::string junit, markdown, html;
  std::string knownFailures;
  bool strictKnown = false;
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
    app.add_option("--topology", options_.topology,
                   "lay the selection's devices out as FILE says (scenarios/topologies/)")
        ->type_name("FILE");
    app.add_option("--isa", options_.isa,
                   "run the selection with these instructions in LibTorch (default: each scenario's own)")
        ->check(CLI::IsMember({"avx2", "default", "avx512"}));
    app.add_option("--threads", options_.threads, "likewise with so many intra-op threads")->check(CLI::Range(1, 256));
    app.add_flag("!--no-capture", options_.capture, "on cuda: do not capture what the devices do (no trace/)");
    app.add_option("--out", options_.out, "where run folders go")->type_name("DIR")->capture_default_str();
    declareReports(app);
    app.add_flag("--allow-skipped", options_.allowSkipped, "exit 0 although this machine could not run every case");
    app.add_flag("--keep", options_.keep, "never remove this suite's folder (others go beyond 20 suites or 2 GiB)");
    places_.declareGoldens(app);
    places_.declareScenarios(app);
    places_.declareRunner(app);
  }

  int run() override {
    harness::installInterruptHandlers();
    outputs_ = outputs();
    removeOldReports();
    if (!options_.knownFailures.empty()) known_ = reports::loadKnownFailures(options_.knownFailures);
    const harness::Shard shard = harness::parseShard(options_.shard);
    const std::vector<StoredScenario> all = places_.loadScenarios();
    std::vector<Scenario> selected = selectScenarios(all, options_.filters);
    refuseOrphans(places_, all, selected);
    if (!options_.backend.empty()) moveTo(options_.backend, selected);
    if (!options_.topology.empty()) layOut(loadLayout(options_.topology), selected);
    pinTo(options_.isa, options_.threads, selected);
    if (!options_.token.empty()) selected = applyToken(selected, options_.token);
    if (options_.processes) shareOut(*options_.processes, selected);
    std::vector<harness::CasePlan> plans;
    const std::map<std::string, std::string> sources = sourcesOf(all);
    for (const Scenario& scenario : selected) {
      plans.push_back(planOf(scenario));
      plans.back().source = sources.at(scenario.name);
    }
    plans = harness::selectShard(plans, shard);
    const bool onGpus =
        std::any_of(selected.begin(), selected.end(), [](const Scenario& each) { return each.backend == "cuda"; });
    if (onGpus && jobs_->count() == 0) options_.jobs = 1;
    const reports::SuiteResult suite = harness::runSuite(plans, suiteOptions());
    if (harness::interrupted() == 0) drawPages(suite);
    return report(suite);
  }

 private:
  void declareReports(CLI::App& app) {
    std::vector<std::string> names;
    for (const reports::Format& format : reports::kFormats) names.emplace_back(format.name);
    app.add_option("--format", options_.formats,
                   "write the report as NAME (" + join(names, ", ") +
                       ") to FILE, again as each case ends; without FILE on standard output, in place of the table "
                       "(github: below it). May be given several times")
        ->type_name("NAME[=FILE]")
        ->take_all()
        ->expected(1);
    app.add_option("--junit", options_.junit, "--format junit=FILE")->type_name("FILE");
    app.add_option("--markdown", options_.markdown, "--format markdown=FILE")->type_name("FILE");
    app.add_option("--html", options_.html, "--format html=FILE")->type_name("FILE");
    app.add_flag("--json", options_.json, "--format json: one document, everything else goes to standard error");
    app.add_option("--known-failures", options_.knownFailures,
                   "failures that do not fail the suite until they expire (docs/ci.md)")
        ->type_name("FILE");
    app.add_flag("--strict-known-failures", options_.strictKnown,
                 "exit 1 also for an entry that matched nothing although its scenarios ran");
  }

  ReportOutputs outputs() const {
    std::vector<std::string> formats = options_.formats;
    for (const auto& [name, file] :
         {std::pair{"junit=", options_.junit}, {"markdown=", options_.markdown}, {"html=", options_.html}})
      if (!file.empty()) formats.push_back(name + file);
    if (options_.json) formats.emplace_back("json");
    return outputsOf(formats);
  }

  /// A report of an earlier run must not be taken for this one's, whatever happens from here on.
  void removeOldReports() const {
    for (const harness::ReportFile& report : outputs_.files) {
      std::error_code error;
      std::filesystem::remove(report.path, error);
      if (error) throw Error(ErrorKind::kEnvironment, report.path, "cannot be replaced: " + error.message());
    }
  }

  harness::SuiteOptions suiteOptions() const {
    harness::SuiteOptions suite;
    suite.out = options_.out;
    suite.jobs = options_.jobs;
    suite.keep = options_.keep;
    suite.files = outputs_.files;
    suite.knownFile = options_.knownFailures;
    suite.known = known_;
    suite.cases = places_.caseOptions();
    if (!options_.capture) suite.cases.supervisor.options = {"--no-capture"};
    suite.terminal = errorIsTerminal();
    return suite;
  }

  /// In place of the pages that were made while the suite ran.
  void drawPages(const reports::SuiteResult& suite) const {
    std::vector<std::string> paths = {joinPath(suite.folder, harness::kReportPage)};
    for (const harness::ReportFile& file : outputs_.files)
      if (file.format->print == reports::printHtml) paths.push_back(file.path);
    harness::writePages(paths, suite, pageOptions(places_.goldensOrEmpty()));
  }

  int report(const reports::SuiteResult& suite) const {
    printOut(outputs_.document != nullptr ? outputs_.document->print(suite)
                                          : reports::printConsole(suite, {outputIsTerminal()}));
    if (outputs_.annotations) printOut(reports::printAnnotations(suite));
    if (harness::interrupted() != 0) return kExitInterrupted;
    return reports::isGreen(suite, {options_.allowSkipped, !options_.strictKnown}) ? kExitAsExpected : kExitUnexpected;
  }

  RunOptions options_;
  ReportOutputs outputs_;
  reports::KnownFailureList known_;
  CLI::Option* jobs_ = nullptr;
  Places places_;
};

}  // namespace

std::unique_ptr<Command> makeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace redraft::scenarios
