#include "scenarios/spec/scenario_contract.h"

#include <vector>

#include "base/error.h"
#include "base/record.h"
#include "base/text.h"
#include "scenarios/spec/scenario_file.h"

namespace redraft::scenarios {
namespace {

/// The workers that a key of `roles` stands for: one, or all of a kind.
std::vector<std::string> workersOf(const std::string& key, const Json& roles) {
  std::vector<std::string> workers;
  for (const auto& [worker, role] : roles.items())
    if (worker == key || worker.starts_with(key + "[")) workers.push_back(worker);
  return workers;
}

void refuseUnknown(const std::string& place, const std::string& key, const Json& roles) {
  std::vector<std::string> names;
  for (const auto& [worker, role] : roles.items()) names.push_back(worker);
  const std::string near = nearest(key, names);
  throwBadInput(place + "/roles/" + printable(key), "the topology has no such role",
                near.empty() ? "there are " + join(names, ", ") : "did you mean \"" + near + "\"?");
}

/// Limits of a kind first, then those of single workers, whatever the order in the file.
void mergeRoles(Json& roles, const Json& limits, const std::string& place) {
  if (!limits.is_object()) throwBadInput(place + "/roles", "expected an object", "write {\"drafter\": {…}}");
  const Json workers = roles;
  for (const bool single : {false, true}) {
    for (const auto& [key, limit] : limits.items()) {
      const std::vector<std::string> named = workersOf(key, workers);
      if (named.empty()) refuseUnknown(place, key, workers);
      if (!limit.is_object()) throwBadInput(place + "/roles/" + key, "expected an object", "write {\"host_syncs\": 2}");
      if (workers.contains(key) != single) continue;
      for (const std::string& worker : named) mergePatch(roles[worker], limit);
    }
  }
}

}  // namespace

harness::Contract contractOf(const Scenario& scenario, const std::string& place) {
  harness::Contract topology = harness::contractOf(scenario.topology.resolve());
  if (scenario.contract.is_null()) return topology;
  Json merged = recordToJson(topology);
  Json limits = scenario.contract;
  if (const auto roles = limits.find("roles"); roles != limits.end()) {
    mergeRoles(merged["roles"], *roles, place);
    limits.erase("roles");
  }
  mergePatch(merged, limits);
  return harness::parseContract(merged.dump(), place);
}

}  // namespace redraft::scenarios
