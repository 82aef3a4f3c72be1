#include "scenarios/cli/bless_runs.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/record.h"
#include "golden/run_files.h"
#include "harness/bisect/command.h"
#include "harness/run_folder.h"
#include "harness/suite.h"
#include "scenarios/cli/common.h"
#include "scenarios/cli/plan.h"

namespace redraft::scenarios {
namespace {

/// Clean but for the golden: what is there differs, is of another class, or is not there.
bool canBeBlessed(const reports::CaseResult& result) {
  using reports::Verdict;
  const auto isNumbers = [](const reports::Finding& each) {
    return each.id == "numerics/golden-mismatch" || each.id == "numerics/beyond-bound";
  };
  const bool onlyNumbers = std::all_of(result.findings.begin(), result.findings.end(), isNumbers);
  return onlyNumbers && (result.verdict == Verdict::kPassed || result.verdict == Verdict::kIncomparable ||
                         result.verdict == Verdict::kFailed);
}

BlessableRun blessable(const std::string& folder) {
  BlessableRun run{folder, planOfRun(folder), {}};
  const std::string& golden = run.plan.golden;
  if (golden != run.plan.name)
    throwBadInput(folder,
                  run.plan.name + (golden.empty() ? " has no golden" : " is compared with the golden of " + golden),
                  golden.empty() ? "set \"golden\" in its scenario" : "bless a run of " + golden);
  const reports::CaseResult result = harness::loadCaseResult(folder);
  if (!canBeBlessed(result))
    throwBadInput(folder, std::string("a run that is ") + enumName(result.verdict) + " cannot be a golden",
                  "bless a run that is clean but for its golden");
  run.record = golden::loadRecord(folder);
  return run;
}

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "" when git does not answer well.
std::string git(const std::string& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "git");
  harness::CommandOptions options;
  options.folder = folder;
  try {
    const harness::CommandResult result = harness::runCommand(arguments, options);
    return result.ok() ? firstLine(result.output) : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::vector<BlessableRun> blessableRuns(const std::string& runOrSuite) {
  if (!isSuiteFolder(runOrSuite)) return {blessable(runOrSuite)};
  std::vector<BlessableRun> runs;
  for (const reports::CaseResult& result : loadReportOrSuite(runOrSuite).cases) {
    const std::string folder = joinPath(runOrSuite, harness::caseFolderName(result.name));
    if (!canBeBlessed(result) || result.verdict == reports::Verdict::kPassed || !fileExists(folder)) continue;
    if (planOfRun(folder).golden == result.name) runs.push_back(blessable(folder));
  }
  if (runs.empty()) throwBadInput(runOrSuite, "no run of it has a golden of its own that is new or differs");
  return runs;
}

golden::Provenance provenanceOf(const BlessableRun& run, const std::string& reason) {
  const golden::EnvironmentReport made = harness::loadEnvironmentReport(run.folder);
  golden::Provenance provenance;
  provenance.commit = made.commit;
  provenance.version = made.version;
  provenance.environment = made.variables;
  provenance.command = "redraft bless " + run.folder;
  provenance.reason = reason;
  provenance.date = harness::utcNow();
  return provenance;
}

std::map<std::string, golden::GoldenUser> goldenUsers(const std::vector<StoredScenario>& scenarios) {
  std::map<std::string, golden::GoldenUser> users;
  for (const StoredScenario& each : scenarios) {
    if (each.scenario.golden.empty()) continue;
    golden::GoldenUser& user = users[each.scenario.golden];
    user.steps = std::max<std::int64_t>(user.steps, each.scenario.training.steps);
    user.evaluates = user.evaluates || each.scenario.evaluate.has_value();
  }
  return users;
}

void refuseOrphans(const Places& places, const std::vector<StoredScenario>& all,
                   const std::vector<Scenario>& selected) {
  const std::string root = places.goldensOrEmpty();
  if (root.empty()) return;
  if (places.goldens.empty()) {
    const std::filesystem::path scenarios = findScenarios(places.scenarios, std::filesystem::current_path().string());
    if (std::filesystem::weakly_canonical(scenarios / "../golden/data") != std::filesystem::weakly_canonical(root))
      return;
  }
  std::map<std::string, golden::GoldenUser> users = goldenUsers(all);
  for (auto& [name, user] : users) {
    const auto uses = [&golden = name](const Scenario& each) { return each.golden == golden; };
    if (std::none_of(selected.begin(), selected.end(), uses)) user.steps = 0;
  }
  const std::vector<golden::Orphan> orphans = golden::findOrphans(root, users);
  if (orphans.empty()) return;
  const std::string more =
      orphans.size() > 1 ? "; " + std::to_string(orphans.size() - 1) + " more of no use" : std::string();
  throwBadInput(orphans.front().file, orphans.front().why + more,
                "`redraft bless --prune --reason \"…\"` takes it away; or name the scenario as it was");
}

std::string standingOf(const std::string& file, const golden::Provenance& provenance, const std::string& runCommit) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  std::string text = "of commit " + provenance.commit.substr(0, 12) + ", " + provenance.date.substr(0, 10) + ": \"" +
                     provenance.reason + "\"";
  const std::string count = git(folder, {"rev-list", "--count", provenance.commit + ".." + runCommit});
  if (!count.empty()) text += "; " + count + (count == "1" ? " commit" : " commits") + " up to the run's";
  const std::string last = git(folder, {"log", "-1", "--format=%h %as \"%s\"", "--", file});
  if (!last.empty()) text += "; its file was last changed by " + last;
  return text;
}

}  // namespace redraft::scenarios
