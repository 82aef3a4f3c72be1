#pragma once
// The stacks that the runner's handlers wrote into its log (scenarios/runner/crash_handler.h), and whose they are.

#include <cstdint>
#include <string>
#include <vector>

namespace redraft::harness {

struct RunnerStack {
  std::string thread;              // as the kernel keeps it: the first 15 bytes of a role's name, or a library's name
  std::int64_t number = -1;        // of the thread, as in the events that it wrote; -1: not said
  bool fatal = false;              // of the signal that ended the run; else of one that asked for it
  std::vector<std::string> lines;  // the handler's own first; a frame that repeats, as in a recursion, is counted
};

/// In the order in which they were written. `log`: lines of runner.log, symbolised or not.
std::vector<RunnerStack> runnerStacks(const std::vector<std::string>& log);

/// The name that a role's thread bears.
std::string threadNameOf(const std::string& role);

}  // namespace redraft::harness
