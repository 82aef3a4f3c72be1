// redraft-runner: one run in one disposable process.
#include <CLI/CLI.hpp>
#include <exception>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/pinned_environment.h"
#include "base/unsupported.h"
#include "scenarios/runner/commands.h"
#include "scenarios/runner/crash_handler.h"
#include "scenarios/runner/throw_trace.h"

namespace {

int exitCode(redraft::ErrorKind kind) {
  switch (kind) {
    case redraft::ErrorKind::kBadInput:
      return 2;
    case redraft::ErrorKind::kEnvironment:
      return 3;
    case redraft::ErrorKind::kDevice:
      return 1;
  }
  return 1;
}

int runAction(const redraft::scenarios::Chosen& chosen, char** argv) {
  try {
    redraft::restartPinned(argv, chosen.pinning);
    return chosen.action();
  } catch (const redraft::Unsupported& error) {
    redraft::log(redraft::LogLevel::kError, error.what());
    return 4;
  } catch (const redraft::Error& error) {
    redraft::log(redraft::LogLevel::kError, error.what());
    return exitCode(error.kind());
  } catch (const std::exception& error) {
    redraft::log(redraft::LogLevel::kError, error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  redraft::scenarios::installCrashHandler();
  redraft::scenarios::startThrowTrace();
  CLI::App app(
      "Runs one drafter-training scenario in this process. `redraft` starts it; by hand it is for looking closely.");
  app.require_subcommand(1);
  redraft::scenarios::Chosen chosen;
  try {
    redraft::scenarios::addRunCommand(app, chosen);
    redraft::scenarios::addAboutCommand(app, chosen);
    redraft::scenarios::addGpusCommand(app, chosen);
    redraft::scenarios::addParityCommand(app, chosen);
    redraft::scenarios::addPretrainCommand(app, chosen);
    redraft::scenarios::addGenerateCommand(app, chosen);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const redraft::Error& error) {
    redraft::log(redraft::LogLevel::kError, error.what());
    return exitCode(error.kind());
  }
  return runAction(chosen, argv);
}
