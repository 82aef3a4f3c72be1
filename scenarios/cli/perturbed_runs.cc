#include "scenarios/cli/perturbed_runs.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/version.h"
#include "scenarios/cli/arithmetic.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

namespace fs = std::filesystem;

/// Removes what it stands for, however the block is left.
struct ScratchFolder {
  explicit ScratchFolder(fs::path place) : path(std::move(place)) {}
  ~ScratchFolder() {
    std::error_code left;  // what cannot be removed does no harm
    fs::remove_all(path, left);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path path;
};

golden::Record perturbedRecord(const BlessableRun& run, const std::string& unit, int seed,
                               harness::CaseOptions options) {
  Scenario scenario = scenarioOfRun(run.folder);
  scenario.perturbation = PerturbationSpec{static_cast<std::uint64_t>(seed), unit};
  scenario.golden.clear();
  scenario.expect = {};
  const ScratchFolder scratch(fs::path(run.folder) / "perturbed" / (unit + "-" + std::to_string(seed)));
  const harness::CasePlan plan = planFrom(scenario, run.folder);
  options.environment = harness::thisEnvironment(plan.pinning);
  options.goldens.clear();
  options.supervisor.options = {"--no-capture"};  // its numbers are wanted, not how the moves got there
  makeDirectories(scratch.path.parent_path().string());
  const reports::CaseResult result = harness::runCase(plan, scratch.path.string(), options);
  if (result.verdict != reports::Verdict::kPassed)
    throwBadInput(run.folder,
                  "under the perturbation " + unit + " it is " + enumName(result.verdict) + ": " +
                      (result.findings.empty() ? result.reason : result.findings.front().title),
                  "it has to pass on this machine; or bless it without --perturb");
  return golden::loadRun(scratch.path.string());
}

}  // namespace

golden::Responses measureResponses(const BlessableRun& run, int seeds, const harness::CaseOptions& options,
                                   const std::function<void(const std::string&)>& print) {
  golden::Responses responses;
  for (const std::string& unit : perturbedUnits(scenarioOfRun(run.folder))) {
    std::vector<golden::Record> perturbed;
    for (int seed = 1; seed <= seeds; ++seed) perturbed.push_back(perturbedRecord(run, unit, seed, options));
    responses[unit] = golden::measureResponse(run.record, perturbed, commitText());
    print("  " + std::to_string(seeds) + " runs under the perturbation " + unit + "\n");
  }
  std::error_code left;
  fs::remove(fs::path(run.folder) / "perturbed", left);
  return responses;
}

}  // namespace redraft::scenarios
