#include "scenarios/cli/common.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "golden/golden.h"
#include "harness/suite_folder.h"
#include "harness/suite_record.h"
#include "reports/printers.h"

namespace redraft::scenarios {
namespace {

std::string workingFolder() { return std::filesystem::current_path().string(); }

bool isTerminal(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) != 0 && term != nullptr && std::string(term) != "dumb" && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

void Places::declareScenarios(CLI::App& app) {
  app.add_option("--scenarios", scenarios, "folder that holds files/ and data/ (default: scenarios/, found upward)")
      ->type_name("DIR");
}

void Places::declareGoldens(CLI::App& app) {
  app.add_option("--goldens", goldens, "folder of goldens (default: golden/data, found upward)")->type_name("DIR");
}

void Places::declareRunner(CLI::App& app) {
  app.add_option("--runner", runner, "program that runs one case (default: redraft-runner beside this program)")
      ->type_name("PATH");
}

std::vector<StoredScenario> Places::loadScenarios() const {
  return scenarios::loadScenarios(findScenarios(scenarios, workingFolder()));
}

std::string Places::goldensOrEmpty() const { return golden::findGoldens(goldens, workingFolder()); }

harness::CaseOptions Places::caseOptions() const {
  harness::CaseOptions options;
  options.supervisor.runner = harness::findRunner(runner);
  options.goldens = goldensOrEmpty();
  return options;
}

void printOut(const std::string& text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!whole) throw Error(ErrorKind::kEnvironment, "standard output", "cannot be written");
}

bool errorIsTerminal() { return isTerminal(STDERR_FILENO); }
bool outputIsTerminal() { return isTerminal(STDOUT_FILENO); }

bool isReport(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const Json json = JsonDocument::load(path, JsonDocument::Comments::kRefuse).root();
  return json.is_object() && json.contains("schema") && json["schema"] == reports::kReportSchema;
}

bool isSuiteFolder(const std::string& path) { return fileExists(joinPath(path, harness::kSuiteFile)); }

reports::SuiteResult loadReportOrSuite(const std::string& path) {
  return isSuiteFolder(path) ? harness::loadSuite(path) : reports::loadReport(path);
}

}  // namespace redraft::scenarios
