#include "tests/scenarios/runner/run_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/pinned_environment.h"
#include "base/record.h"
#include "scenarios/spec/store.h"
#include "tests/paths.h"

namespace redraft::scenarios {

Scenario shipped(const std::string& name) {
  static const std::vector<StoredScenario> kAll = loadScenarios(std::string(kSourceFolder) + "/scenarios");
  return findScenario(kAll, name).scenario;
}

RunFolder::RunFolder(Scenario scenario, const std::function<void(Scenario&)>& change) {
  if (change) change(scenario);
  for (const DataLink& link : relocateData(scenario)) {
    const std::filesystem::path destination = folder_ / link.destination;
    std::filesystem::create_directories(destination.parent_path());
    std::filesystem::copy(link.source, destination, std::filesystem::copy_options::recursive);
  }
  writeFileAtomically(folder_ / "scenario.resolved.json", pretty(resolvedScenario(scenario)));
}

pid_t RunFolder::start(const std::vector<std::string>& more, const std::function<void()>& inChild) const {
  static const std::string kRunner = std::string(kBinaryFolder) + "/bin/redraft-runner";
  std::vector<std::string> words = {kRunner, "run", folder_.path()};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = folder_ / "runner.log";
  const pid_t child = ::fork();
  if (child == 0) {
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    for (const auto& [name, value] : pinnedEnvironment()) ::setenv(name.c_str(), value.c_str(), 1);
    if (inChild) inChild();
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  return child;
}

int waitFor(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

int RunFolder::run(const std::vector<std::string>& more) const { return waitFor(start(more)); }

std::string RunFolder::log() const { return readFile(folder_ / "runner.log"); }

}  // namespace redraft::scenarios
