// redraft: the command line. Starts children and reads records; has no LibTorch.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "scenarios/cli/command.h"

namespace redraft::scenarios {
namespace {

/// What could have been meant by a word that nothing takes.
std::string suggestion(const CLI::App& app, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& at = chosen.empty() ? app : *chosen.front();
  std::vector<std::string> options, commands;
  for (const CLI::Option* option : at.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  for (const CLI::App* command : at.get_subcommands(nullptr)) commands.push_back(command->get_name());
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const std::vector<std::string>& valid = name.starts_with("-") ? options : commands;
    if (std::find(valid.begin(), valid.end(), name) != valid.end()) continue;
    const std::string near = nearest(name, valid);
    if (!near.empty()) return "did you mean " + near + "?";
  }
  return "see `redraft " + (chosen.empty() ? "" : at.get_name() + " ") + "--help`";
}

int usageError(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  log(LogLevel::kError, std::string(error.what()) + "\n  remedy: " + suggestion(app, words));
  return kExitBadInput;
}

int runCommand(Command& command) {
  try {
    return command.run();
  } catch (const Error& error) {
    log(LogLevel::kError, error.what());
    return error.kind() == ErrorKind::kBadInput ? kExitBadInput : kExitEnvironment;
  } catch (const std::exception& error) {
    log(LogLevel::kError, std::string("unexpected: ") + error.what());
    return kExitEnvironment;
  }
}

int mainOf(int argc, char** argv) {
  CLI::App app("Reproducible debugging and regression harness for multi-GPU drafter training", "redraft");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("redraft ") + versionText() + " (commit " + commitText() + ")");
  app.footer("Exit codes: 0 as expected, 1 not as expected, 2 bad usage or input, 3 environment, 130 interrupted.");
  const std::vector<std::unique_ptr<Command>> commands = allCommands();
  int code = kExitAsExpected;
  for (const auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->help());
    command->declare(*sub);
    sub->callback([&code, &command] { code = runCommand(*command); });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return usageError(app, error, std::vector<std::string>(argv + 1, argv + argc));
  }
  return code;
}

}  // namespace
}  // namespace redraft::scenarios

int main(int argc, char** argv) { return redraft::scenarios::mainOf(argc, argv); }
