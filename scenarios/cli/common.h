#pragma once
// What several subcommands share: where things are, and how results are shown.

#include <string>
#include <vector>

#include "golden/record.h"
#include "harness/case_runner.h"
#include "reports/result.h"
#include "scenarios/spec/store.h"

namespace CLI {
class App;
}

namespace redraft::scenarios {

/// Places, found when not given: --scenarios, --goldens, --runner.
struct Places {
  std::string scenarios, goldens, runner;

  void declareScenarios(CLI::App& app);
  void declareGoldens(CLI::App& app);
  void declareRunner(CLI::App& app);

  std::vector<StoredScenario> loadScenarios() const;
  /// What running a case needs. Throws Error(kEnvironment) when there is no runner.
  harness::CaseOptions caseOptions() const;
  std::string goldensOrEmpty() const;
};

/// To standard output. Throws Error(kEnvironment) when it cannot be written.
void printOut(const std::string& text);

bool errorIsTerminal();
bool outputIsTerminal();

/// What `compare` and `bless` take: a run folder, a golden file, a stored report or a suite's folder.
bool isReport(const std::string& path);
bool isSuiteFolder(const std::string& path);
reports::SuiteResult loadReportOrSuite(const std::string& path);

}  // namespace redraft::scenarios
