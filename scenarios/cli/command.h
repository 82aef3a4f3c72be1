#pragma once
// One class per subcommand. declare() binds options to members; run() does the work and returns the exit code.

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace redraft::scenarios {

// docs/formats.md, "Verdicts and exit codes".
inline constexpr int kExitAsExpected = 0;
inline constexpr int kExitUnexpected = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitEnvironment = 3;
inline constexpr int kExitInterrupted = 130;

class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual const char* help() const = 0;
  virtual void declare(CLI::App& app) = 0;
  /// Errors are thrown (base/error.h); main turns them into exit codes.
  virtual int run() = 0;
};

std::unique_ptr<Command> makeListCommand();
std::unique_ptr<Command> makeShowCommand();
std::unique_ptr<Command> makeRunCommand();
std::unique_ptr<Command> makeReportCommand();
std::unique_ptr<Command> makeReplayCommand();
std::unique_ptr<Command> makeCompareCommand();
std::unique_ptr<Command> makeBenchCommand();
std::unique_ptr<Command> makeDivergenceCommand();
std::unique_ptr<Command> makeBlessCommand();
std::unique_ptr<Command> makeAuditCommand();
std::unique_ptr<Command> makeAttributeCommand();
std::unique_ptr<Command> makeDriftCommand();
std::unique_ptr<Command> makeBisectCommand();
std::unique_ptr<Command> makeBisectStepCommand();
std::unique_ptr<Command> makeDoctorCommand();

/// In the order of the help text.
std::vector<std::unique_ptr<Command>> allCommands();

}  // namespace redraft::scenarios
