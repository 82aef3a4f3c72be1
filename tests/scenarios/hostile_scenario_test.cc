// What a scenario file may do wrong, and that the error names file, line, key and what to write instead.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "scenarios/spec/store.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

std::string loadError(const ScenarioFolder& folder) {
  try {
    loadScenarios(folder.root());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "no error";
}

std::string loadError(const std::string& text) {
  const ScenarioFolder folder;
  folder.write("bad", text);
  return loadError(folder);
}

void expectAll(const std::string& error, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(error.find(part), std::string::npos) << part << "\nin: " << error;
}

TEST(HostileScenarioTest, AnUnknownKeyNamesFileLineAndNearestKey) {
  expectAll(loadError("{\n\"schema\": \"redraft.scenario/1\",\n\"training\": {\n  \"stepz\": 3}}"),
            {"bad.json:4", "/training/stepz", "unknown key", "\"steps\""});
}

TEST(HostileScenarioTest, AnotherSchemaVersionIsRefused) {
  expectAll(loadError(R"({"schema": "redraft.scenario/2"})"),
            {"bad.json:1", "redraft.scenario/2", "redraft.scenario/1"});
  expectAll(loadError(R"({"seed": 1})"), {"bad.json:1", "schema"});
}

TEST(HostileScenarioTest, ACircleOfExtendsIsNamed) {
  const ScenarioFolder folder;
  folder.write("a", R"({"schema": "redraft.scenario/1", "extends": "b"})");
  folder.write("b", R"({"schema": "redraft.scenario/1", "extends": "a"})");
  expectAll(loadError(folder), {"a → b → a", "b → a → b"});
}

TEST(HostileScenarioTest, ALongChainOfExtendsIsRefused) {
  const ScenarioFolder folder;
  folder.write("s0", ScenarioFolder::whole(""));
  for (std::size_t i = 1; i <= kMaxExtendsDepth; ++i)
    folder.write("s" + std::to_string(i),
                 R"({"schema": "redraft.scenario/1", "extends": "s)" + std::to_string(i - 1) + R"("})");
  expectAll(loadError(folder), {"extends too many", "at most 16"});
}

TEST(HostileScenarioTest, AMissingBaseNamesTheNearest) {
  const ScenarioFolder folder;
  folder.write("dual", ScenarioFolder::whole(""));
  folder.write("x", R"({"schema": "redraft.scenario/1", "extends": "duel"})");
  expectAll(loadError(folder), {"x.json", "\"duel\"", "did you mean \"dual\""});
}

TEST(HostileScenarioTest, AnExtendsThatLeavesTheFolderIsRefused) {
  for (const char* path : {"../secret", "/etc/passwd", "a//b", "a/", "A", ".."})
    expectAll(loadError(std::string(R"({"schema": "redraft.scenario/1", "extends": ")") + path + "\"}"),
              {"bad.json:1", "not a scenario's name"});
}

TEST(HostileScenarioTest, AMatrixBeyondAThousandIsRefusedBeforeItIsMade) {
  std::vector<std::string> values;
  for (int i = 1; i <= 200; ++i) values.push_back(std::to_string(i));
  const std::string list = "[" + join(values, ",") + "]";
  expectAll(loadError(ScenarioFolder::whole("\"matrix\": {\"training.steps\": " + list +
                                            ", \"training.anchors\": " + list + ", \"seed\": " + list + "}")),
            {"bad.json:", "more than 1000 combinations"});
}

TEST(HostileScenarioTest, AMatrixValueIsCheckedWhereItGoes) {
  expectAll(loadError(ScenarioFolder::whole("\"matrix\": {\n\"topology.peer\": [\"of\"]}")),
            {"bad.json:6", "of", "\"off\""});
  expectAll(loadError(ScenarioFolder::whole("\"matrix\": {\"topology.pear\": [\"on\"]}")), {"unknown key", "\"peer\""});
  expectAll(loadError(ScenarioFolder::whole("\"matrix\": {\"topology..peer\": [\"on\"]}")), {"not a key path"});
  expectAll(loadError(ScenarioFolder::whole("\"matrix\": {\"seed\": []}")), {"expected a list"});
  expectAll(loadError(ScenarioFolder::whole("\"matrix\": {\"seed\": [[1]]}")), {"a value of a matrix"});
}

TEST(HostileScenarioTest, AKeyPathOfManyPartsIsRefusedBeforeItIsFollowed) {
  std::string path = "training";
  for (int i = 0; i < 200000; ++i) path += ".a";
  expectAll(loadError(ScenarioFolder::whole("\"matrix\": {\n\"" + path + "\": [1]}")),
            {"bad.json:6", "not a key path"});
}

TEST(HostileScenarioTest, WhatContradictsItselfNamesWhereItWasGiven) {
  const ScenarioFolder folder;
  folder.write("base", ScenarioFolder::whole("\"abstract\": true"));
  folder.write("bad",
               "{\"schema\": \"redraft.scenario/1\", \"extends\": \"base\",\n\"topology\": {\n"
               "\"roles\": {\"drafter\": [4]}}}");
  expectAll(loadError(folder), {"bad.json:3", "device 4 is not there", "4 devices"});
  folder.write("bad", "{\"schema\": \"redraft.scenario/1\", \"extends\": \"base\", \"topology\": {\"devices\": 2}}");
  expectAll(loadError(folder), {"base.json:2", "device 2 is not there"});
}

TEST(HostileScenarioTest, WrongCombinationsAreRefused) {
  expectAll(loadError(ScenarioFolder::whole("\"training\": {\"micro_batches\": 1}")),
            {"1 micro-batches for 2 drafters"});
  expectAll(loadError(ScenarioFolder::whole("\"expect\": {\"verdict\": \"FAILED\"}")), {"not which one"});
  expectAll(loadError(ScenarioFolder::whole("\"expect\": {\"finding\": \"a/b\"}")), {"a passed case has no finding"});
  expectAll(loadError(ScenarioFolder::whole("\"fault\": {\"step\": 3}")), {"missing key \"name\""});
  expectAll(loadError(ScenarioFolder::whole("\"golden\": \"../x\"")), {"not a scenario's name"});
  expectAll(loadError(R"({"schema": "redraft.scenario/1"})"), {"no device has the role"});
}

TEST(HostileScenarioTest, RolesThatAreNotThereAreRefused) {
  expectAll(loadError(R"({"schema": "redraft.scenario/1", "topology": {"roles": {"draftr": [0]}}})"),
            {"unknown key", "\"drafter\""});
  expectAll(loadError(R"({"schema": "redraft.scenario/1", "topology": {"copies": [["target"]]}})"), {"pairs of roles"});
  expectAll(loadError(ScenarioFolder::whole("")), {"no error"});
}

TEST(HostileScenarioTest, EveryBadFileIsNamedAtOnce) {
  const ScenarioFolder folder;
  folder.write("a", "{");
  folder.write("b", "[]");
  folder.write("c", std::string(100, '['));
  expectAll(loadError(folder), {"a.json:1", "b.json:1", "c.json:1"});
}

TEST(HostileScenarioTest, AFileThatIsTooLargeIsAnErrorNotAnAllocation) {
  expectAll(loadError("{\"description\": \"" + std::string(2u << 20, 'x') + "\"}"), {"bad.json"});
}

TEST(HostileScenarioTest, AResolvedScenarioStaysInItsRunFolder) {
  const ScenarioFolder folder;
  folder.write("r", ScenarioFolder::whole(""));
  for (const char* path : {"../x", "/etc/passwd", "data/../../x"}) {
    Scenario scenario = loadScenarios(folder.root())[0].scenario;
    scenario.data.path = path;
    const JsonDocument document = JsonDocument::parse(resolvedScenario(scenario).dump(1), "resolved.json");
    EXPECT_THROW(parseResolvedScenario(document), Error) << path;
  }
}

}  // namespace
}  // namespace redraft::scenarios
