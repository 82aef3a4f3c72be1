#pragma once
// A command run to its end, for what a bisection calls: git, builds, and the built program.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/child_process.h"

namespace redraft::harness {

struct CommandResult {
  ChildEnd end;
  bool timedOut = false;
  bool interrupted = false;  // by a signal to this program (harness/interrupt.h)
  std::string output;        // standard output and error together; the last 64 KiB
  bool ok() const { return !timedOut && !interrupted && end.clean(); }
  /// "exited 2", "took longer than 60 s".
  std::string text() const;
};

struct CommandOptions {
  std::string folder;                              // to run in; "": this program's
  std::chrono::seconds limit{60};                  // then it is ended, with all that it started
  std::function<void(std::string_view)> onOutput;  // as it comes
};

/// The first argument is looked up in PATH. Variables that point git elsewhere (GIT_DIR and the like) are taken away.
/// Throws Error(kEnvironment) when no process can be started.
CommandResult runCommand(const std::vector<std::string>& arguments, const CommandOptions& options);

/// The output of a command that has to succeed, without its last newline. Throws Error(kBadInput) with its output.
std::string outputOf(const std::vector<std::string>& arguments, const std::string& folder);

}  // namespace redraft::harness
