#pragma once
// From scenarios to what the harness runs.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/case_plan.h"
#include "scenarios/spec/store.h"

namespace redraft::scenarios {

/// The plan of a scenario whose paths are absolute.
harness::CasePlan planOf(Scenario scenario);

/// The plan of a recorded run, from its folder alone. Throws Error(kBadInput) when the folder is no run's, or its token
/// does not fit its scenario.
harness::CasePlan planOfRun(const std::string& folder);

/// The scenario of a recorded run, with the same errors; and the plan of it, or of a change of it, over the data that
/// lies in the folder.
Scenario scenarioOfRun(const std::string& folder);
harness::CasePlan planFrom(const Scenario& scenario, const std::string& folder);
/// The same without the scenario's fault, as what a golden is of.
harness::CasePlan cleanPlanOfRun(const std::string& folder);

/// The scenarios that a filter selects: a whole name, or a glob where '*' crosses '/'. An empty list of filters selects
/// the suite. Throws Error(kBadInput) when a filter selects nothing.
std::vector<Scenario> selectScenarios(const std::vector<StoredScenario>& all, const std::vector<std::string>& filters);

/// The file of each scenario, by its name, as reports show it: relative to the working folder where it is below it.
std::map<std::string, std::string> sourcesOf(const std::vector<StoredScenario>& all);

/// The same scenarios on another backend. Throws Error(kBadInput) naming one that cannot run there.
void moveTo(const std::string& backend, std::vector<Scenario>& scenarios);

/// The same scenarios with as many processes. Throws Error(kBadInput) naming one that cannot be shared out so.
void shareOut(int processes, std::vector<Scenario>& scenarios);

/// The same scenarios in another environment: instruction set ("": as they say) and intra-op threads.
void pinTo(const std::string& isa, std::optional<int> threads, std::vector<Scenario>& scenarios);

/// Those of `scenarios` that a token is for, with its seed. Throws Error(kBadInput) when there are none.
std::vector<Scenario> applyToken(const std::vector<Scenario>& scenarios, const std::string& token);

}  // namespace redraft::scenarios
