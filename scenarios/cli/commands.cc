#include "scenarios/cli/command.h"

namespace redraft::scenarios {

std::vector<std::unique_ptr<Command>> allCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  for (const auto make :
       {makeListCommand, makeShowCommand, makeRunCommand, makeReportCommand, makeReplayCommand, makeCompareCommand,
        makeDivergenceCommand, makeBenchCommand, makeBlessCommand, makeAuditCommand, makeAttributeCommand,
        makeDriftCommand, makeBisectCommand, makeBisectStepCommand, makeDoctorCommand})
    commands.push_back(make());
  return commands;
}

}  // namespace redraft::scenarios
