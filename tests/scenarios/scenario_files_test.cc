// The files that ship, and the schema that is published with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/record.h"
#include "scenarios/spec/scenario_file.h"
#include "scenarios/spec/schema.h"
#include "scenarios/spec/store.h"
#include "tests/paths.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

const std::string kRoot = std::string(kSourceFolder) + "/scenarios";

/// Every key path of the schema with its description.
void collect(const Json& properties, const std::string& prefix, std::map<std::string, Json>& found) {
  for (const auto& [key, property] : properties.items()) {
    found[prefix + key] = property;
    if (property.contains("properties")) collect(property["properties"], prefix + key + "/", found);
  }
}

std::map<std::string, Json> schemaKeys() {
  std::map<std::string, Json> found;
  const Json schema = scenarioSchema();
  collect(schema["properties"], "", found);
  return found;
}

/// A value of the wrong type for a property.
Json wrongValue(const Json& property) {
  const Json& type = property["type"];
  const Json& first = type.is_array() ? type[0] : type;
  return first == "array" || first == "object" ? Json("text") : Json::array();
}

std::string readError(const std::string& path, const Json& value) {
  const ScenarioFolder folder;
  Json json = {{"schema", kScenarioSchema}};
  json[Json::json_pointer("/" + path)] = value;
  folder.write("probe", json.dump(1));
  try {
    loadScenarioFile(folder.root() + "/files/probe.json", "probe");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScenarioSchemaTest, ThePublishedSchemaIsTheProgramsOwn) {
  const std::string path = kRoot + "/schema/scenario.schema.json";
  const std::string own = pretty(scenarioSchema());
  if (std::getenv("REDRAFT_WRITE_SCHEMA") != nullptr) writeFileAtomically(path, own);
  EXPECT_EQ(readFile(path), own) << "write it anew: REDRAFT_WRITE_SCHEMA=1 build/tests/scenario_spec_test";
}

TEST(ScenarioSchemaTest, TheParserKnowsEveryKeyOfTheSchemaAndRefusesAWrongTypeForIt) {
  const auto keys = schemaKeys();
  ASSERT_GT(keys.size(), 40u);
  for (const auto& [path, property] : keys) {
    const std::string error = readError(path, wrongValue(property));
    EXPECT_NE(error, "") << path;
    EXPECT_EQ(error.find("unknown key"), std::string::npos) << path << ": " << error;
  }
}

TEST(ScenarioSchemaTest, TheParserKeepsToTheRangesAndChoicesOfTheSchema) {
  for (const auto& [path, property] : schemaKeys()) {
    if (property.contains("minimum")) {
      EXPECT_EQ(readError(path, property["minimum"]), "") << path;
      EXPECT_EQ(readError(path, property["maximum"]), "") << path;
      EXPECT_NE(readError(path, property["minimum"].get<double>() - 1), "") << path;
    }
    if (!property.contains("enum")) continue;
    for (const Json& choice : property["enum"]) EXPECT_EQ(readError(path, choice), "") << path << " " << choice;
    EXPECT_NE(readError(path, "no such choice"), "") << path;
  }
}

TEST(ScenarioSchemaTest, TheParserRefusesAKeyThatTheSchemaDoesNotHave) {
  EXPECT_NE(readError("trainings", Json::object()).find("\"training\""), std::string::npos);
  EXPECT_NE(readError("training/micro_batchs", 1).find("\"micro_batches\""), std::string::npos);
}

TEST(ScenarioFilesTest, TheIssuesScenariosAreThereWithTheirTwins) {
  std::set<std::string> names;
  for (const StoredScenario& each : loadScenarios(kRoot)) names.insert(each.scenario.name);
  const std::vector<std::string> faults = {"dual-drafter/shared-kernel-cache",
                                           "dual-drafter/half-fix",
                                           "dual-drafter/compile-disabled",
                                           "dual-drafter/mask-on-other-device[topology.peer=on]",
                                           "dual-drafter/mask-on-other-device[topology.peer=off]",
                                           "dual-drafter/recompute-on-other-device",
                                           "dual-drafter/tracing-flag"};
  for (const std::string& name : faults) {
    EXPECT_TRUE(names.contains(name)) << name;
    EXPECT_TRUE(names.contains(name + kTwinSuffix)) << name;
  }
  for (const char* name : {"single-drafter", "dual-drafter", "dual-drafter/per-device-cache"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("tiny"));
}

TEST(ScenarioFilesTest, EveryGoldenThatIsNamedIsAScenarioThatPasses) {
  const auto all = loadScenarios(kRoot);
  for (const StoredScenario& each : all) {
    if (each.scenario.golden.empty()) continue;
    EXPECT_EQ(findScenario(all, each.scenario.golden).scenario.expect.verdict, "PASSED") << each.scenario.name;
  }
}

TEST(ScenarioFilesTest, EveryScenarioThatAnotherIsAMultipleOfIsThereAndRunsBeforeIt) {
  std::vector<std::string> before;
  for (const StoredScenario& each : loadScenarios(kRoot)) {
    if (!each.scenario.scalingOf.empty()) {
      EXPECT_EQ(std::count(before.begin(), before.end(), each.scenario.scalingOf), 1) << each.scenario.name;
    }
    before.push_back(each.scenario.name);
  }
}

TEST(ScenarioFilesTest, NothingOfTheSuiteNeedsAGpu) {
  for (const StoredScenario& each : loadScenarios(kRoot)) {
    EXPECT_TRUE(each.scenario.backend != "cuda" || !each.inSuite) << each.scenario.name;
  }
}

}  // namespace
}  // namespace redraft::scenarios
