#pragma once
// A run folder made from a shipped scenario, and the runner started on it as a child.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/events.h"
#include "scenarios/spec/scenario.h"
#include "tests/model/pipeline/temporary_folder.h"

namespace redraft::scenarios {

/// The shipped scenario of this name.
Scenario shipped(const std::string& name);

class RunFolder {
 public:
  /// Lays the scenario and its data; `change` may alter it first.
  explicit RunFolder(Scenario scenario, const std::function<void(Scenario&)>& change = nullptr);

  std::string path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  /// Runs the runner to its end; the status is waitpid's. Its output goes to runner.log.
  int run(const std::vector<std::string>& more = {}) const;
  /// Starts it and returns its pid. `inChild` is called in the child, before the runner takes its place.
  pid_t start(const std::vector<std::string>& more = {}, const std::function<void()>& inChild = nullptr) const;

  harness::EventLog events() const { return harness::readEvents(folder_ / "events.jsonl"); }
  std::string log() const;

 private:
  TemporaryFolder folder_;
};

/// waitpid's status of a child.
int waitFor(pid_t child);

}  // namespace redraft::scenarios
