#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "scenarios/spec/layout.h"
#include "scenarios/spec/scenario_contract.h"
#include "scenarios/spec/scenario_file.h"
#include "scenarios/spec/schema.h"
#include "scenarios/spec/store.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

std::vector<std::string> namesOf(const std::vector<StoredScenario>& scenarios) {
  std::vector<std::string> names;
  for (const StoredScenario& each : scenarios) names.push_back(each.scenario.name);
  return names;
}

TEST(ScenarioSpecTest, FillsInEveryDefault) {
  const ScenarioFolder folder;
  folder.write("plain", ScenarioFolder::whole(""));
  const auto all = loadScenarios(folder.root());
  ASSERT_EQ(all.size(), 1u);
  const Scenario& plain = all[0].scenario;
  EXPECT_EQ(plain.training.steps, TrainingSpec().steps);
  EXPECT_EQ(plain.golden, "plain");
  EXPECT_EQ(plain.expect.verdict, "PASSED");
  EXPECT_FALSE(plain.fault.has_value());
  EXPECT_EQ(plain.data.path, folder.root() + "/data/x.txt");
}

TEST(ScenarioSpecTest, MergesWhatItExtendsKeyByKeyAndNullTakesAKeyAway) {
  const ScenarioFolder folder;
  folder.write("base", ScenarioFolder::whole(R"("abstract": true, "training": {"steps": 3, "gamma": 2.0})"));
  folder.write("a/child", R"({"schema": "redraft.scenario/1", "extends": "base",
    "training": {"gamma": null, "anchors": 5}, "topology": {"roles": {"drafter": [3]}}})");
  const auto all = loadScenarios(folder.root());
  ASSERT_EQ(namesOf(all), std::vector<std::string>{"a/child"});
  const Scenario& child = all[0].scenario;
  EXPECT_EQ(child.training.steps, 3);
  EXPECT_EQ(child.training.anchors, 5);
  EXPECT_FALSE(child.training.gamma.has_value());
  EXPECT_EQ(child.topology.roles.at("target"), std::vector<int>{0});
  EXPECT_EQ(child.topology.roles.at("drafter"), std::vector<int>{3});
}

TEST(ScenarioSpecTest, ExpandsAMatrixInOrderAndNamesEachCombination) {
  const ScenarioFolder folder;
  folder.write("m", ScenarioFolder::whole(R"("matrix": {"topology.peer": ["on", "off"], "training.steps": [1, 2]})"));
  const auto all = loadScenarios(folder.root());
  EXPECT_EQ(namesOf(all), (std::vector<std::string>{
                              "m[topology.peer=on,training.steps=1]", "m[topology.peer=on,training.steps=2]",
                              "m[topology.peer=off,training.steps=1]", "m[topology.peer=off,training.steps=2]"}));
  EXPECT_EQ(all[2].scenario.topology.peer, "off");
  EXPECT_EQ(all[3].scenario.training.steps, 2);
}

TEST(ScenarioContractTest, ATopologyIsItsContract) {
  const ScenarioFolder folder;
  folder.write("plain", ScenarioFolder::whole(""));
  const Scenario plain = loadScenarios(folder.root())[0].scenario;
  EXPECT_EQ(harness::contractText(contractOf(plain, "")),
            harness::contractText(harness::contractOf(plain.topology.resolve())));
}

TEST(ScenarioContractTest, LimitsOfAKindHoldForAllItsWorkersAndThoseOfOneForItAlone) {
  const ScenarioFolder folder;
  folder.write(
      "limits",
      ScenarioFolder::whole(
          R"("contract": {"warmup_steps": 2, "roles": {"drafter[1]": {"host_syncs": 9}, "drafter": {"host_syncs": 3, "set_device": 4}}})"));
  const harness::Contract contract = contractOf(loadScenarios(folder.root())[0].scenario, "");
  EXPECT_EQ(contract.warmupSteps, 2);
  EXPECT_EQ(contract.roles.at("drafter[0]").hostSyncs, 3);
  EXPECT_EQ(contract.roles.at("drafter[1]").hostSyncs, 9);
  EXPECT_EQ(contract.roles.at("drafter[1]").setDevice, 4);
  EXPECT_EQ(contract.roles.at("drafter[1]").devices, std::vector<std::int32_t>{2});
  EXPECT_FALSE(contract.roles.at("drafter[1]").copies.empty());
  EXPECT_FALSE(contract.roles.at("target[0]").setDevice.has_value());
}

TEST(ScenarioContractTest, RefusesRolesAndKeysThatAreNone) {
  for (const auto& [contract, place] :
       {std::pair{R"({"roles": {"drafters": {}}})", "/contract/roles/drafters"},
        {R"({"roles": {"drafter[4]": {"host_syncs": 1}}})", "/contract/roles/drafter[4]"},
        {R"({"roles": {"drafter": {"host_sync": 1}}})", "host_sync"},
        {R"({"roles": {"drafter": {"host_syncs": -1}}})", "below 0"},
        {R"({"roles": []})", "/contract/roles"},
        {R"({"warmup": 1})", "warmup"}}) {
    const ScenarioFolder folder;
    folder.write("bad", ScenarioFolder::whole(std::string("\"contract\": ") + contract));
    try {
      loadScenarios(folder.root());
      ADD_FAILURE() << contract;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
    }
  }
}

TEST(ScenarioContractTest, IsNoPartOfTheConfigurationAndComesBackAsItWas) {
  const ScenarioFolder folder;
  folder.write("a", ScenarioFolder::whole(R"("contract": {"roles": {"target": {"host_syncs": 1}}})"));
  folder.write("b", ScenarioFolder::whole(""));
  const auto all = loadScenarios(folder.root());
  EXPECT_EQ(configurationHash(all[0].scenario), configurationHash(all[1].scenario));
  EXPECT_EQ(resolvedScenario(all[0].scenario)["contract"], Json::parse(R"({"roles": {"target": {"host_syncs": 1}}})"));
  EXPECT_FALSE(resolvedScenario(all[1].scenario).contains("contract"));
}

TEST(ScenarioSpecTest, AWrittenFalseGoldenIsTheTwinsTooAndATwinAloneHasItsOwn) {
  const auto goldensOf = [](const std::string& golden) {
    const ScenarioFolder folder;
    folder.write("f", ScenarioFolder::whole(R"("fault": {"name": "x", "step": 2})" + golden));
    const auto all = loadScenarios(folder.root());
    return std::pair{all[0].scenario.golden, all[1].scenario.golden};
  };
  EXPECT_EQ(goldensOf(R"(, "golden": false)"), (std::pair<std::string, std::string>("", "")));
  EXPECT_EQ(goldensOf(R"(, "golden": true)"), (std::pair<std::string, std::string>("f", "f/twin")));
  EXPECT_EQ(goldensOf(""), (std::pair<std::string, std::string>("", "f/twin")));
}

TEST(ScenarioSpecTest, GivesEveryFaultATwinThatIsTheSameWithoutIt) {
  const ScenarioFolder folder;
  folder.write("f", ScenarioFolder::whole(R"("fault": {"name": "x", "step": 2}, "golden": "other",
    "expect": {"verdict": "FAILED", "finding": "a/b"})"));
  const auto all = loadScenarios(folder.root());
  ASSERT_EQ(namesOf(all), (std::vector<std::string>{"f", "f/twin"}));
  EXPECT_EQ(all[0].scenario.fault->name, "x");
  EXPECT_EQ(all[0].scenario.fault->parameters, (Json{{"step", 2}}));
  const Scenario& twin = all[1].scenario;
  EXPECT_TRUE(all[1].isTwin);
  EXPECT_FALSE(twin.fault.has_value());
  EXPECT_EQ(twin.expect.verdict, "PASSED");
  EXPECT_EQ(twin.golden, "other");

  Json withoutFault = resolvedScenario(all[0].scenario), twinJson = resolvedScenario(twin);
  for (const char* key : {"name", "description", "fault", "expect"}) {
    withoutFault.erase(key);
    twinJson.erase(key);
  }
  EXPECT_EQ(withoutFault, twinJson);
}

TEST(ScenarioSpecTest, ComparesAFaultWithNoGoldenUnlessItNamesOne) {
  const ScenarioFolder folder;
  folder.write("f",
               ScenarioFolder::whole(R"("fault": {"name": "x"}, "expect": {"verdict": "FAILED", "finding": "a/b"})"));
  const auto all = loadScenarios(folder.root());
  EXPECT_EQ(all[0].scenario.golden, "");
  EXPECT_EQ(all[1].scenario.golden, "f/twin");
}

TEST(ScenarioSpecTest, RandomDataComesFromNoFileAndATableGeneratesNothing) {
  const ScenarioFolder folder;
  folder.write("base", ScenarioFolder::whole(""));
  const auto error = [&](const std::string& more) -> std::string {
    folder.write("d", R"({"schema": "redraft.scenario/1", "extends": "base", )" + more + "}");
    try {
      loadScenarios(folder.root());
      return "";
    } catch (const Error& refused) {
      return refused.what();
    }
  };
  EXPECT_NE(error(R"("data": {"format": "random"})").find("random tokens"), std::string::npos);
  EXPECT_NE(error(R"("data": {"path": null})").find("missing key"), std::string::npos);
  EXPECT_EQ(error(R"("data": {"format": "random", "path": null, "samples": 3})"), "");
  EXPECT_NE(error(R"("target": {"source": "table"}, "evaluate": {})").find("generates nothing"), std::string::npos);
}

TEST(ScenarioSpecTest, AScenarioOutsideTheSuiteSaysSoItsVariantsTooAndHandsItOnToNone) {
  const ScenarioFolder folder;
  folder.write("big", ScenarioFolder::whole(R"("suite": false, "matrix": {"seed": [1, 2]})"));
  folder.write("child", R"({"schema": "redraft.scenario/1", "extends": "big"})");
  std::vector<bool> inSuite;
  for (const StoredScenario& each : loadScenarios(folder.root())) inSuite.push_back(each.inSuite);
  EXPECT_EQ(inSuite, (std::vector<bool>{false, false, true}));
}

TEST(ScenarioSpecTest, ReadsBackWhatItWroteResolved) {
  const ScenarioFolder folder;
  folder.write("r", ScenarioFolder::whole(R"("fault": {"name": "x", "k": [1, 2]}, "evaluate": {"prompts": 3},
    "training": {"gamma": 4.0}, "seed": 9223372036854775807, "expect": {"verdict": "CRASHED"})"));
  Scenario scenario = loadScenarios(folder.root())[0].scenario;
  const auto links = relocateData(scenario);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].destination, "data/x.txt");
  const Json resolved = resolvedScenario(scenario);
  const JsonDocument document = JsonDocument::parse(resolved.dump(2), "resolved");
  EXPECT_EQ(resolvedScenario(parseResolvedScenario(document)), resolved);
}

TEST(ScenarioSpecTest, TheConfigurationHashCoversWhatDecidesResultsAndNothingElse) {
  const ScenarioFolder folder;
  folder.write("h", ScenarioFolder::whole(""));
  const Scenario scenario = loadScenarios(folder.root())[0].scenario;
  Scenario renamed = scenario;
  renamed.name = "other";
  renamed.golden = "";
  renamed.limits.seconds = 1;
  renamed.scalingOf = "another";
  EXPECT_EQ(configurationHash(renamed), configurationHash(scenario));
  Scenario longer = scenario;
  longer.training.steps += 1;
  EXPECT_NE(configurationHash(longer), configurationHash(scenario));
  EXPECT_EQ(freeScheduleToken(scenario), "free/1/" + configurationHash(scenario) + "/0");
  Scenario green = scenario;
  green.topology.greenContexts = true;
  EXPECT_NE(configurationHash(green), configurationHash(scenario));
}

/// Writes a topology file beside the scenarios, and lays out what is there.
std::vector<Scenario> laidOut(const ScenarioFolder& folder, const std::string& keys) {
  const std::string path = folder.root() + "/layout.json";
  writeFileAtomically(path, R"({"schema": "redraft.topology/1", "description": "x")" + keys + "}");
  std::vector<Scenario> scenarios;
  for (const StoredScenario& each : loadScenarios(folder.root())) scenarios.push_back(each.scenario);
  layOut(loadLayout(path), scenarios);
  return scenarios;
}

TEST(LayoutTest, ChangesWhatItSaysAndLeavesTheRest) {
  const ScenarioFolder folder;
  folder.write("l", ScenarioFolder::whole(""));
  const Scenario before = loadScenarios(folder.root())[0].scenario;
  const Scenario after = laidOut(folder, R"(, "gpus": [0, 0, 1, 1], "peer": "off")")[0];
  EXPECT_EQ(after.topology.gpus, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(after.topology.resolve().gpus, after.topology.gpus);
  EXPECT_EQ(after.topology.peer, "off");
  EXPECT_EQ(after.topology.roles, before.topology.roles);
  EXPECT_EQ(after.name, before.name);
  EXPECT_NE(configurationHash(after), configurationHash(before));
  EXPECT_EQ(configurationHash(laidOut(folder, "")[0]), configurationHash(before));
}

TEST(LayoutTest, RefusesWhatIsNoTopologyAndWhatDoesNotFitAScenario) {
  const ScenarioFolder folder;
  folder.write("l", ScenarioFolder::whole(""));
  const auto refusal = [&](const std::string& keys) -> std::string {
    try {
      laidOut(folder, keys);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const auto& [keys, said] : std::vector<std::pair<std::string, std::string>>{
           {R"(, "steps": 3)", "steps"},
           {R"(, "gpus": [0, -1, 0, 0])", "gpus"},
           {R"(, "gpus": [0, 1])", "l: /topology/gpus: 2 GPUs for 4 devices"},
           {R"(, "gpus": [0, 1, 1, 2], "distinct": true)", "a GPU is named twice"},
           {R"(, "devices": 2)", "l: /topology/roles: device 2 is not there"}}) {
    EXPECT_NE(refusal(keys).find(said), std::string::npos) << keys << ": " << refusal(keys);
  }
}

TEST(LayoutTest, ThoseOfTheRepositoryFitTheSuite) {
  const std::string root = "scenarios";  // tests run in the repository root
  int layouts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/topologies")) {
    ++layouts;
    std::vector<Scenario> suite;
    for (const StoredScenario& each : loadScenarios(root))
      if (each.scenario.topology.devices == 8) suite.push_back(each.scenario);
    EXPECT_NO_THROW(layOut(loadLayout(entry.path().string()), suite)) << entry.path();
  }
  EXPECT_EQ(layouts, 3);
}

TEST(ScenarioSpecTest, ResolvesRolesAndCopyEdgesToDevices) {
  TopologySpec spec;
  spec.roles = {{"target", {0, 1}}, {"drafter", {1, 2}}};
  const devices::Topology topology = spec.resolve();
  ASSERT_EQ(topology.roles.size(), 4u);
  const auto allows = [&](int from, int to) {
    return std::find(topology.copyEdges.begin(), topology.copyEdges.end(), std::pair(from, to)) !=
           topology.copyEdges.end();
  };
  EXPECT_TRUE(allows(0, 2));
  EXPECT_TRUE(allows(1, 2));
  EXPECT_TRUE(allows(2, 1));
  EXPECT_FALSE(allows(2, 0));
}

}  // namespace
}  // namespace redraft::scenarios
