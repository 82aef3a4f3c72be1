#include <CLI/CLI.hpp>

#include "base/record.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common.h"

namespace redraft::scenarios {
namespace {

class ShowCommand : public Command {
 public:
  const char* name() const override { return "show"; }
  const char* help() const override { return "Show a scenario with everything that it extends and every default"; }
  void declare(CLI::App& app) override {
    app.add_option("scenario", scenario_, "its name")->required()->type_name("SCENARIO");
    places_.declareScenarios(app);
    app.add_flag("--json", json_, "the JSON alone");
  }

  int run() override {
    const std::vector<StoredScenario> all = places_.loadScenarios();
    const StoredScenario& found = findScenario(all, scenario_);
    Scenario relocated = found.scenario;
    const std::vector<DataLink> links = relocateData(relocated);
    std::string head;
    if (!json_) {
      head += found.scenario.name + "\n  " + found.scenario.description + "\n  file  " + found.file + "\n  token " +
              freeScheduleToken(relocated) + "\n";
      for (const DataLink& link : links) head += "  data  " + link.source + "\n";
    }
    printOut(head + pretty(resolvedScenario(relocated)));
    return kExitAsExpected;
  }

 private:
  Places places_;
  std::string scenario_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeShowCommand() { return std::make_unique<ShowCommand>(); }

}  // namespace redraft::scenarios
