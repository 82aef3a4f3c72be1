#include "scenarios/cli/plan.h"

#include <algorithm>
#include <filesystem>

#include "base/characters.h"
#include "base/error.h"
#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "harness/run_folder.h"
#include "scenarios/cli/arithmetic.h"
#include "scenarios/spec/scenario_contract.h"
#include "scenarios/spec/scenario_file.h"

namespace redraft::scenarios {
namespace {

constexpr std::size_t kMaxTokenBytes = 256;

harness::CasePlan planOfRelocated(const Scenario& scenario) {
  harness::CasePlan plan;
  plan.name = scenario.name;
  plan.description = scenario.description;
  plan.scenarioText = pretty(resolvedScenario(scenario));
  plan.token = freeScheduleToken(scenario);
  plan.topology = scenario.topology.resolve();
  plan.contract = contractOf(scenario, scenario.name + ": /contract");
  plan.pinning = {scenario.threads, scenario.isa};
  plan.steps = scenario.training.steps;
  plan.hangSeconds = scenario.limits.hangSeconds;
  plan.seconds = scenario.limits.seconds;
  plan.expected.verdict = *enumFromName<reports::Verdict>(scenario.expect.verdict);
  plan.expected.finding = scenario.expect.finding;
  plan.golden = scenario.golden;
  plan.processes = scenario.processes;
  plan.scalingOf = scenario.scalingOf;
  return plan;
}

bool selects(const std::string& filter, const std::string& name) { return filter == name || globMatch(filter, name); }

}  // namespace

harness::CasePlan planOf(Scenario scenario) {
  const auto arithmetic = arithmeticOf(scenario, "");
  const std::vector<DataLink> links = relocateData(scenario);
  harness::CasePlan plan = planOfRelocated(scenario);
  plan.arithmetic = arithmetic;
  for (const DataLink& link : links) plan.links.push_back({link.source, link.destination});
  return plan;
}

Scenario scenarioOfRun(const std::string& folder) {
  const std::string path = joinPath(folder, harness::kScenarioFile);
  if (!fileExists(path))
    throwBadInput(folder, std::string("not a run folder: it holds no ") + harness::kScenarioFile,
                  "name the folder of one case, as the report does");
  Scenario scenario = loadResolvedScenario(path);
  const std::string recorded = readFile(joinPath(folder, harness::kTokenFile), kMaxTokenBytes);
  const std::string token = freeScheduleToken(scenario);
  if (recorded != token + "\n")
    throwBadInput(joinPath(folder, harness::kTokenFile), "the token does not fit the scenario beside it",
                  "one of the two was edited: expected " + token);
  return scenario;
}

harness::CasePlan planOfRun(const std::string& folder) { return planFrom(scenarioOfRun(folder), folder); }

harness::CasePlan planFrom(const Scenario& scenario, const std::string& folder) {
  harness::CasePlan plan = planOfRelocated(scenario);
  plan.arithmetic = arithmeticOf(scenario, folder);
  for (const std::string& data : {scenario.data.path, scenario.target.checkpoint})
    if (!data.empty()) plan.links.push_back({joinPath(folder, data), data});
  return plan;
}

harness::CasePlan cleanPlanOfRun(const std::string& folder) {
  harness::CasePlan recorded = planOfRun(folder);
  Scenario scenario = loadResolvedScenario(joinPath(folder, harness::kScenarioFile));
  scenario.fault.reset();
  harness::CasePlan plan = planOfRelocated(scenario);
  plan.links = std::move(recorded.links);
  return plan;
}

std::vector<Scenario> selectScenarios(const std::vector<StoredScenario>& all, const std::vector<std::string>& filters) {
  std::vector<std::string> names;
  for (const StoredScenario& each : all) names.push_back(each.scenario.name);
  for (const std::string& filter : filters) {
    const auto hit = [&](const std::string& name) { return selects(filter, name); };
    if (std::any_of(names.begin(), names.end(), hit)) continue;
    const std::string near = nearest(filter, names);
    throwBadInput("--filter", "\"" + printable(filter) + "\" selects no scenario",
                  near.empty() ? "see `redraft list`" : "did you mean \"" + near + "\"?");
  }
  std::vector<Scenario> selected;
  for (const StoredScenario& each : all) {
    const auto hit = [&](const std::string& filter) { return selects(filter, each.scenario.name); };
    if (filters.empty() ? each.inSuite : std::any_of(filters.begin(), filters.end(), hit))
      selected.push_back(each.scenario);
  }
  return selected;
}

std::map<std::string, std::string> sourcesOf(const std::vector<StoredScenario>& all) {
  const std::filesystem::path here = std::filesystem::current_path();
  std::map<std::string, std::string> sources;
  for (const StoredScenario& each : all) {
    const std::filesystem::path file = std::filesystem::absolute(each.file).lexically_normal();
    const std::string relative = file.lexically_relative(here).string();
    sources[each.scenario.name] = relative.empty() || relative.starts_with("..") ? file.string() : relative;
  }
  return sources;
}

void moveTo(const std::string& backend, std::vector<Scenario>& scenarios) {
  for (Scenario& scenario : scenarios) {
    scenario.backend = backend;
    checkScenario(scenario, [&](const std::string&) { return "--backend " + backend + ": " + scenario.name; });
  }
}

void shareOut(int processes, std::vector<Scenario>& scenarios) {
  for (Scenario& scenario : scenarios) {
    scenario.processes = processes;
    checkScenario(scenario, [&](const std::string& key) {
      return "--processes " + std::to_string(processes) + ": " + scenario.name + ": " + key;
    });
  }
}

void pinTo(const std::string& isa, std::optional<int> threads, std::vector<Scenario>& scenarios) {
  for (Scenario& scenario : scenarios) {
    if (!isa.empty()) scenario.isa = isa;
    if (threads) scenario.threads = *threads;
  }
}

std::vector<Scenario> applyToken(const std::vector<Scenario>& scenarios, const std::string& token) {
  const std::vector<std::string> parts = split(token, '/');
  const bool digits = parts.size() == 4 && parts[3].size() <= 18 && isDigits(parts[3]);
  if (!digits || parts[0] != "free" || parts[1] != "1")
    throwBadInput("--schedule", "\"" + printable(token) + "\" is no token that is known here",
                  "write free/1/<configuration hash>/<seed>, as in a run's schedule.token");
  std::vector<Scenario> fitting;
  for (Scenario scenario : scenarios) {
    scenario.seed = std::stoull(parts[3]);
    Scenario relocated = scenario;
    relocateData(relocated);
    if (freeScheduleToken(relocated) == token) fitting.push_back(std::move(scenario));
  }
  if (fitting.empty())
    throwBadInput("--schedule", "no selected scenario has the configuration of this token",
                  "`redraft replay RUN` runs a recorded run with its own scenario");
  return fitting;
}

}  // namespace redraft::scenarios
