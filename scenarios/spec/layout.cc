#include "scenarios/spec/layout.h"

#include "base/error.h"
#include "base/text.h"
#include "scenarios/spec/field_reader.h"
#include "scenarios/spec/field_writer.h"
#include "scenarios/spec/scenario_file.h"

namespace redraft::scenarios {
namespace {

constexpr const char* kLayoutSchema = "redraft.topology/1";
constexpr std::size_t kMaxLayoutBytes = 1u << 16;

TopologySpec readTopology(JsonReader& reader) {
  TopologySpec topology;
  FieldReader fields(reader);
  visitFields(fields, topology);
  reader.finish();
  return topology;
}

}  // namespace

Layout loadLayout(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path, JsonDocument::Comments::kAllow, kMaxLayoutBytes);
  JsonReader root(document);
  const std::string schema = root.string("schema");
  if (schema != kLayoutSchema)
    root.fail("schema", "the schema \"" + printable(schema) + "\" is not known",
              std::string("write \"") + kLayoutSchema + "\"");
  root.ignore("description");
  readTopology(root);
  Layout layout{path, document.root()};
  for (const char* key : {"schema", "description"}) layout.topology.erase(key);
  return layout;
}

void layOut(const Layout& layout, std::vector<Scenario>& scenarios) {
  for (Scenario& scenario : scenarios) {
    Json topology = Json::object();
    FieldWriter writer(topology);
    visitFields(writer, scenario.topology);
    mergePatch(topology, layout.topology);
    const std::string place = layout.path + ": " + scenario.name;
    const JsonDocument document = JsonDocument::parse(topology.dump(), place);
    JsonReader reader(document);
    scenario.topology = readTopology(reader);
    checkScenario(scenario, [&](const std::string& key) { return place + ": " + key; });
  }
}

}  // namespace redraft::scenarios
