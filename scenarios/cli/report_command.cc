#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "harness/suite_folder.h"
#include "harness/suite_record.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/pages.h"

namespace redraft::scenarios {
namespace {

/// A suite's folder may have been moved, or brought from another machine: its run folders are in it.
void findRunFolders(const std::string& folder, reports::SuiteResult& suite) {
  for (reports::CaseResult& each : suite.cases) {
    std::string own = joinPath(folder, harness::caseFolderName(each.name));
    if (fileExists(own)) each.runFolder = std::move(own);
  }
}

class ReportCommand : public Command {
 public:
  const char* name() const override { return "report"; }
  const char* help() const override { return "Write the HTML report of a stored suite again, from its run folders"; }

  void declare(CLI::App& app) override {
    app.add_option("suite", suite_, "the folder of a suite; it may have been moved")->required()->type_name("SUITE");
    app.add_option("--html", html_, "the file to write (default: report.html in the suite's folder)")
        ->type_name("FILE");
    places_.declareGoldens(app);
  }

  int run() override {
    if (!isSuiteFolder(suite_))
      throwBadInput(suite_, std::string("not a suite's folder: it holds no ") + harness::kSuiteFile,
                    "name a folder that `redraft run` made below --out");
    const std::string folder = std::filesystem::canonical(suite_).string();  // of the link `latest`, what it names
    reports::SuiteResult suite = harness::loadSuite(folder);
    findRunFolders(folder, suite);
    const std::string path = html_.empty() ? joinPath(folder, "report.html") : html_;
    harness::writePages({path}, suite, pageOptions(places_.goldensOrEmpty()));
    printOut(path + "\n");
    return kExitAsExpected;
  }

 private:
  Places places_;
  std::string suite_, html_;
};

}  // namespace

std::unique_ptr<Command> makeReportCommand() { return std::make_unique<ReportCommand>(); }

}  // namespace redraft::scenarios
