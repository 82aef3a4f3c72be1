#include <CLI/CLI.hpp>

#include "base/record.h"
#include "reports/layout.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"

namespace redraft::scenarios {
namespace {

/// One row of `redraft list --json`.
struct ListedScenario {
  std::string name, description, file;
  bool twin = false;
  std::string verdict, finding, golden;
  template <class Visitor>
  void fields(Visitor& visit) {
    visit("name", name);
    visit("description", description);
    visit("file", file);
    visit("twin", twin);
    visit("expected_verdict", verdict);
    visit("expected_finding", finding);
    visit("golden", golden);
  }
};

class ListCommand : public Command {
 public:
  const char* name() const override { return "list"; }
  const char* help() const override { return "List the scenarios"; }
  void declare(CLI::App& app) override {
    places_.declareScenarios(app);
    app.add_flag("--json", json_, "one JSON document on standard output");
    app.add_flag("--twins", twins_, "list the twins (a faulty scenario without its fault) too; --json always does");
  }

  int run() override {
    const std::vector<StoredScenario> all = places_.loadScenarios();
    json_ ? printJson(all) : printTable(all);
    return kExitAsExpected;
  }

 private:
  static void printJson(const std::vector<StoredScenario>& all) {
    Json list = Json::array();
    for (const StoredScenario& each : all) {
      const Scenario& scenario = each.scenario;
      list.push_back(recordToJson(ListedScenario{scenario.name, scenario.description, each.file, each.isTwin,
                                                 scenario.expect.verdict, scenario.expect.finding, scenario.golden}));
    }
    printOut(pretty(list));
  }

  void printTable(const std::vector<StoredScenario>& all) const {
    std::vector<std::vector<std::string>> rows;
    for (const StoredScenario& each : all) {
      if (each.isTwin && !twins_) continue;
      const ExpectSpec& expect = each.scenario.expect;
      rows.push_back(
          {each.scenario.name, expect.finding.empty() ? expect.verdict : expect.finding, each.scenario.description});
    }
    for (const std::string& line : reports::alignColumns(rows, "  ", {})) printOut(line + "\n");
  }

  Places places_;
  bool json_ = false, twins_ = false;
};

}  // namespace

std::unique_ptr<Command> makeListCommand() { return std::make_unique<ListCommand>(); }

}  // namespace redraft::scenarios
