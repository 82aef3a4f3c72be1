#pragma once
// A case whose runner is the fake one, in a folder that lives as long as a test.

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/record.h"
#include "harness/case_runner.h"
#include "harness/run_folder.h"
#include "tests/paths.h"
#include "tests/support/temp_folder.h"

namespace redraft::harness {

using TemporaryFolder = testing_support::TempFolder;

inline const std::string kFakeRunner = std::string(kBinaryFolder) + "/tests/fake_runner";

inline CasePlan fakePlan(const std::vector<std::string>& script, const std::string& name = "fake") {
  CasePlan plan;
  plan.name = name;
  plan.scenarioText = Json{{"name", name}, {"fault", {{"script", script}}}}.dump();
  plan.token = "free/1/0/0";
  plan.steps = 3;
  plan.topology.deviceCount = 8;
  plan.topology.copyEdges = {{0, 6}, {6, 7}, {7, 6}};
  plan.contract.roles["drafter[0]"].devices = {6};
  return plan;
}

inline SupervisorOptions fakeSupervisor() {
  SupervisorOptions options;
  options.runner = kFakeRunner;
  options.look = std::chrono::milliseconds(5);
  options.grace = std::chrono::milliseconds(100);
  return options;
}

/// Lays the folder and runs the child in it.
inline Observation superviseFake(const TemporaryFolder& folder, const CasePlan& plan) {
  const std::string run = joinPath(folder.path(), "run");
  prepareRunFolder(run, plan, {});
  return supervise(run, plan, fakeSupervisor());
}

inline reports::CaseResult runFake(const TemporaryFolder& folder, const CasePlan& plan, const std::string& goldens = "",
                                   const std::string& run = "run") {
  CaseOptions options;
  options.supervisor = fakeSupervisor();
  options.environment = thisEnvironment({});
  options.goldens = goldens;
  return runCase(plan, joinPath(folder.path(), run), options);
}

}  // namespace redraft::harness
