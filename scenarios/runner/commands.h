#pragma once
// The subcommands of redraft-runner: each parses into a plain options struct and runs. Exit codes: docs/formats.md,
// "Runner".

#include <CLI/App.hpp>
#include <functional>
#include <memory>

#include "base/pinned_environment.h"

namespace redraft::scenarios {

/// Set by the subcommand that the command line chose; run after parsing.
using Action = std::function<int()>;

/// What the environment is pinned for; known before the action runs.
struct Chosen {
  Action action;
  Pinning pinning;
};

void addRunCommand(CLI::App& app, Chosen& chosen);
void addAboutCommand(CLI::App& app, Chosen& chosen);
void addGpusCommand(CLI::App& app, Chosen& chosen);
void addParityCommand(CLI::App& app, Chosen& chosen);
void addPretrainCommand(CLI::App& app, Chosen& chosen);
void addGenerateCommand(CLI::App& app, Chosen& chosen);

}  // namespace redraft::scenarios
