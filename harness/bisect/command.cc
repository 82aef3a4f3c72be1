#include "harness/bisect/command.h"

#include <algorithm>
#include <csignal>

#include "base/error.h"
#include "base/text.h"
#include "harness/interrupt.h"

namespace redraft::harness {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTailBytes = 64u << 10;
constexpr std::chrono::milliseconds kLook{1000};
constexpr std::chrono::seconds kGrace{10};  // for a child that was asked to end

ChildCommand commandOf(const std::vector<std::string>& arguments, const std::string& folder) {
  ChildCommand command;
  command.arguments = {"/usr/bin/env",   "-u", "GIT_DIR",        "-u", "GIT_WORK_TREE",        "-u",
                       "GIT_INDEX_FILE", "-u", "GIT_COMMON_DIR", "-u", "GIT_OBJECT_DIRECTORY", "-u",
                       "GIT_PREFIX"};
  if (!folder.empty()) {
    command.arguments.emplace_back("-C");
    command.arguments.push_back(folder);
  }
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

void endInOrder(ChildProcess& child) {
  child.signal(SIGTERM);
  const Clock::time_point limit = Clock::now() + kGrace;
  std::string rest;
  while (!child.ended() && Clock::now() < limit) child.wait(std::chrono::milliseconds(100), -1, rest);
}

}  // namespace

std::string CommandResult::text() const {
  if (interrupted) return "was interrupted";
  return timedOut ? "took too long" : end.text();
}

CommandResult runCommand(const std::vector<std::string>& arguments, const CommandOptions& options) {
  CommandResult result;
  const auto take = [&](std::string& chunk) {
    if (options.onOutput && !chunk.empty()) options.onOutput(chunk);
    result.output += chunk;
    chunk.clear();
    if (result.output.size() > 2 * kTailBytes) result.output.erase(0, result.output.size() - kTailBytes);
  };
  ChildProcess child(commandOf(arguments, options.folder));
  const Clock::time_point limit = Clock::now() + options.limit;
  std::string chunk;
  std::optional<ChildEnd> end;
  while (!(end = child.ended())) {
    result.interrupted = interrupted() != 0;
    result.timedOut = Clock::now() >= limit;
    if (result.interrupted || result.timedOut) {
      endInOrder(child);
      return result;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
    child.wait(std::clamp(left, std::chrono::milliseconds(1), kLook), interruptFd(), chunk);
    take(chunk);
  }
  child.drain(chunk);
  take(chunk);
  result.end = *end;
  return result;
}

std::string outputOf(const std::vector<std::string>& arguments, const std::string& folder) {
  CommandOptions options;
  options.folder = folder;
  options.limit = std::chrono::minutes(10);
  CommandResult result = runCommand(arguments, options);
  if (!result.ok())
    throwBadInput(join(arguments, " "), result.text() + (result.output.empty() ? "" : ": " + result.output));
  while (!result.output.empty() && result.output.back() == '\n') result.output.pop_back();
  return result.output;
}

}  // namespace redraft::harness
