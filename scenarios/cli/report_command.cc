#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "harness/bench/bench.h"
#include "harness/divergence/divergence.h"
#include "harness/page/single.h"
#include "harness/run_folder.h"
#include "harness/suite_folder.h"
#include "harness/suite_record.h"
#include "harness/trace/load_trace.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/pages.h"
#include "scenarios/cli/plan.h"
#include "scenarios/cli/run_traces.h"

namespace redraft::scenarios {
namespace {

namespace fs = std::filesystem;

/// A suite's folder may have been moved, or brought from another machine: its run folders are in it.
void findRunFolders(const std::string& folder, reports::SuiteResult& suite) {
  for (reports::CaseResult& each : suite.cases) {
    std::string own = joinPath(folder, harness::caseFolderName(each.name));
    if (fileExists(own)) each.runFolder = std::move(own);
  }
}

bool holds(const std::string& folder, const char* file) { return fileExists(joinPath(folder, file)); }

/// The traces of a run, of a folder, or a trace itself; nullopt: there are none.
std::optional<harness::PageReference> referenceAt(const std::string& path, const std::string& name) {
  std::vector<std::string> traces = tracesOf(path);
  if (traces.empty() || !fileExists(traces.front())) return std::nullopt;
  return harness::PageReference{name, std::move(traces)};
}

class ReportCommand : public Command {
 public:
  const char* name() const override { return "report"; }
  const char* help() const override {
    return "Write the HTML page of what is there: a suite, one run, a trace, a bench or a divergence";
  }

  void declare(CLI::App& app) override {
    app.add_option("what", what_,
                   "folder of a suite, a run, a bench or a divergence, which may have been moved; or a trace (Kineto "
                   "JSON, as torch.profiler exports it, or compact) or a folder of traces")
        ->required()
        ->type_name("WHAT");
    app.add_option("--against", against_,
                   "show where the time of steps changed since this: of a suite another suite, of a run or trace "
                   "another run or trace")
        ->type_name("REFERENCE");
    app.add_option("--html", html_, "the file to write (default: report.html in the folder; of a trace, TRACE.html)")
        ->type_name("FILE");
    places_.declareGoldens(app);
  }

  int run() override {
    if (!fileExists(what_)) throwBadInput(what_, "does not exist", "name a suite's folder, a run, a trace or a record");
    what_ = fs::canonical(what_).string();  // of the link `latest`, what it names
    const std::string path = html_.empty() ? defaultPath() : html_;
    if (isSuiteFolder(what_)) {
      writeSuite(path);
    } else {
      writeFileAtomically(path, page());
    }
    printOut(path + "\n");
    return kExitAsExpected;
  }

 private:
  std::string defaultPath() const {
    return fs::is_directory(what_) ? joinPath(what_, harness::kReportPage) : what_ + ".html";
  }

  void writeSuite(const std::string& path) const {
    reports::SuiteResult suite = harness::loadSuite(what_);
    findRunFolders(what_, suite);
    harness::PageOptions options = pageOptions(places_.goldensOrEmpty());
    if (!against_.empty()) {
      if (!isSuiteFolder(against_))
        throwBadInput(against_, "is no suite's folder, and a suite is to be compared with it",
                      "name another suite's folder, or of this suite one case's");
      options.referenceOf = [this](const reports::CaseResult& result) {
        const std::string folder = joinPath(against_, harness::caseFolderName(result.name));
        // Of a case without a trace there, the page says what is missing.
        return referenceAt(folder, against_)
            .value_or(harness::PageReference{against_, {joinPath(folder, harness::kTraceFolder)}});
      };
    }
    harness::writePages({path}, suite, options);
  }

  std::string page() const {
    if (holds(what_, harness::kBenchFile)) {
      refuseReference();
      return harness::benchPage(harness::loadBench(joinPath(what_, harness::kBenchFile)));
    }
    if (holds(what_, harness::kDivergenceFile)) {
      refuseReference();
      return harness::divergencePage(harness::loadDivergence(joinPath(what_, harness::kDivergenceFile)));
    }
    return pageOfTraces();
  }

  std::string pageOfTraces() const {
    std::optional<harness::PageReference> reference = referenceOfOne();
    if (holds(what_, harness::kScenarioFile)) {
      harness::PageOptions options = pageOptions(places_.goldensOrEmpty());
      options.referenceOf = [&](const reports::CaseResult&) { return reference; };
      return harness::runPage(what_, planOfRun(what_), options);
    }
    if (fs::is_directory(what_) && harness::traceFilesIn(what_).empty())
      throwBadInput(what_,
                    std::string("holds nothing that there is a page of: no ") + harness::kSuiteFile + ", " +
                        harness::kScenarioFile + ", " + harness::kBenchFile + ", " + harness::kDivergenceFile +
                        " or trace",
                    "name a folder that `redraft run`, `bench` or `divergence` made, or a trace");
    return harness::tracePage(fs::path(what_).filename().string(), {what_}, reference, {});
  }

  void refuseReference() const {
    if (!against_.empty()) throwBadInput("--against", "this record compares two already", "leave it out");
  }

  std::optional<harness::PageReference> referenceOfOne() const {
    if (against_.empty()) return std::nullopt;
    auto reference = referenceAt(against_, against_);
    if (!reference) throwBadInput(against_, "is no trace, and no run that left one", "name one that is");
    return reference;
  }

  Places places_;
  std::string what_, against_, html_;
};

}  // namespace

std::unique_ptr<Command> makeReportCommand() { return std::make_unique<ReportCommand>(); }

}  // namespace redraft::scenarios
