#include "scenarios/spec/scenario.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "scenarios/spec/field_reader.h"
#include "scenarios/spec/field_writer.h"
#include "scenarios/spec/scenario_file.h"

namespace redraft::scenarios {
namespace {

/// A run folder may come from elsewhere; what it names stays inside it.
void checkInside(const std::string& path, const std::string& place) {
  const std::vector<std::string> parts = split(path, '/');
  if (path.starts_with("/") || std::find(parts.begin(), parts.end(), "..") != parts.end())
    throwBadInput(place, "\"" + printable(path) + "\" leaves the run folder", "name a file inside the run folder");
}

}  // namespace

int TopologySpec::workers(const std::string& role) const {
  const auto found = roles.find(role);
  return found == roles.end() ? 0 : static_cast<int>(found->second.size());
}

devices::Topology TopologySpec::resolve() const {
  devices::Topology topology;
  topology.deviceCount = devices;
  topology.peerAccess = peer == "on";
  topology.gpus = gpus;
  for (const auto& [role, list] : roles)
    for (std::size_t i = 0; i < list.size(); ++i)
      topology.roles.push_back({role + "[" + std::to_string(i) + "]", list[i]});
  for (const auto& [from, to] : copies)
    for (const int source : roles.at(from))
      for (const int destination : roles.at(to))
        if (source != destination) topology.copyEdges.emplace_back(source, destination);
  return topology;
}

Scenario loadResolvedScenario(const std::string& path) {
  return parseResolvedScenario(JsonDocument::load(path, JsonDocument::Comments::kRefuse, 1u << 20));
}

Scenario parseResolvedScenario(const JsonDocument& document) {
  JsonReader root(document);
  const std::string schema = root.string("schema");
  if (schema != kScenarioSchema)
    root.fail("schema", "the schema \"" + printable(schema) + "\" is not known",
              std::string("write \"") + kScenarioSchema + "\"");
  Scenario scenario;
  scenario.name = root.string("name");
  FieldReader reader(root);
  visitFields(reader, scenario);
  root.finish();
  checkScenario(scenario, [&](const std::string& pointer) {
    return document.name() + ":" + std::to_string(document.line(pointer)) + ": " + pointer;
  });
  checkInside(scenario.data.path, root.place("data"));
  checkInside(scenario.target.checkpoint, root.place("target"));
  return scenario;
}

Json resolvedScenario(const Scenario& scenario) {
  Json json = {{"schema", kScenarioSchema}, {"name", scenario.name}};
  FieldWriter writer(json);
  Scenario copy = scenario;  // visitors take what they visit by reference
  visitFields(writer, copy);
  return json;
}

std::string configurationHash(const Scenario& scenario) {
  Json json = resolvedScenario(scenario);
  for (const char* key : {"name", "description", "processes", "contract", "expect", "golden", "scaling_of", "limits"})
    json.erase(key);
  // Tokens of before there was the key stay what they were.
  if (!scenario.topology.greenContexts) json["topology"].erase("green_contexts");
  if (scenario.isa == Scenario().isa) json.erase("isa");
  return hashText(json.dump());
}

std::string freeScheduleToken(const Scenario& scenario) {
  return "free/1/" + configurationHash(scenario) + "/" + std::to_string(scenario.seed);
}

}  // namespace redraft::scenarios
