#include "harness/affinity/contract.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/harness/affinity/trace_builder.h"
#include "tests/paths.h"
#include "tests/support/expect_error.h"

namespace redraft::harness {
namespace {

using testing_support::checkOf;
using testing_support::expectBadInput;
using testing_support::TraceBuilder;
using testing_support::twoRoles;

/// Every key with a value of its own.
Contract fullContract() {
  Contract contract = twoRoles();
  RoleContract& role = contract.roles["drafter"];
  role.threads = {4711};
  role.threadNames = {"drafter*"};
  role.unclaimed = role.defaultStream = true;
  role.hostSyncs = 3;
  role.copies.front().peer = false;
  contract.graphs = {{0, 1}};
  contract.warmupSteps = 2;
  return contract;
}

TEST(ContractTest, SurvivesItsFile) {
  const std::string text = contractText(fullContract());
  EXPECT_EQ(contractText(parseContract(text, "contract.json")), text);
}

TEST(ContractTest, SaysWhatIsWrongInAFile) {
  const struct {
    std::string text;
    std::vector<std::string> parts;
  } cases[] = {
      {"{", {"contract.json"}},
      {R"({"schema": "redraft.contract/2", "roles": {"a": {"devices": [0]}}})", {"/schema", "redraft.contract/1"}},
      {R"({"schema": "redraft.contract/1", "roles": {}})", {"/roles", "no role"}},
      {R"({"schema": "redraft.contract/1", "roles": {"a": {"devices": []}}})", {"/roles/a/devices"}},
      {R"({"schema": "redraft.contract/1", "roles": {"a": {"devices": [-1]}}})", {"/roles/a/devices", "-1"}},
      {R"({"schema": "redraft.contract/1", "roles": {"a": {"devices": [0], "steams": []}}})", {"steams", "streams"}},
      {R"({"schema": "redraft.contract/1", "roles": {"a": {"devices": "0"}}})", {"/roles/a/devices", "a list"}},
      {R"({"schema": "redraft.contract/1", "roles": {"a": {"devices": [0], "unclaimed": true},
                                                     "b": {"devices": [1], "unclaimed": true}}})",
       {"/roles", "more than one"}},
  };
  for (const auto& [text, parts] : cases)
    expectBadInput([&text = text] { parseContract(text, "contract.json"); }, parts);
}

/// The keys that a schema gives to an object and, by the same names, to the objects in it.
void expectKeys(const Json& record, const Json& schema, const std::string& where) {
  const Json& properties = schema.at("properties");
  for (const auto& [key, value] : record.items()) EXPECT_TRUE(properties.contains(key)) << where << "/" << key;
  for (const auto& [key, value] : properties.items()) EXPECT_TRUE(record.contains(key)) << where << "/" << key;
  EXPECT_EQ(schema.at("additionalProperties"), false) << where;
}

TEST(ContractTest, HasThePublishedSchemasKeys) {
  const JsonDocument schema = JsonDocument::load(std::string(kSourceFolder) + "/scenarios/schema/contract.schema.json");
  const Json contract = recordToJson(fullContract());
  const Json& role = contract["roles"]["drafter"];
  expectKeys(contract, schema.root(), "");
  const Json& definitions = schema.root().at("$defs");
  expectKeys(role, definitions.at("role"), "role");
  expectKeys(role["streams"][0], definitions.at("stream"), "stream");
  expectKeys(role["copies"][0], definitions.at("copy"), "copy");
}

TEST(ContractTest, OfATopologyAllowsItsRolesAndEdges) {
  devices::Topology topology;
  topology.roles = {{"target[0]", 0}, {"drafter[0]", 6}};
  topology.copyEdges = {{0, 6}};
  const Contract contract = contractOf(topology);
  EXPECT_EQ(contract.roles.at("drafter[0]").devices, std::vector<std::int32_t>{6});
  ASSERT_EQ(contract.roles.at("drafter[0]").copies.size(), 1u);
  EXPECT_TRUE(contract.roles.at("drafter[0]").copies.front().peer);
}

TEST(InferContractTest, AllowsWhatTheTraceDoesAndNoMore) {
  TraceBuilder good;
  good.context(0, 10);
  good.kernel("target", 0).step = 1;
  good.peerCopy("drafter", 0, 1);
  good.kernel("drafter", 1);
  good.kernel("drafter", 1, 3).graph = 4;
  good.call("cudaStreamSynchronize", "drafter", 11).step = 1;
  good.call("cudaSetDevice", "drafter", 11).step = 1;
  const Contract contract = inferContract(good.trace);
  EXPECT_FALSE(auditTrace(good.trace, &contract).foundAny());
  const RoleContract& drafter = contract.roles.at("drafter");
  EXPECT_EQ(drafter.devices, std::vector<std::int32_t>{1});
  EXPECT_EQ(drafter.streams, (std::vector<ContractStream>{{2, 3}, {2, 7}}));
  EXPECT_EQ(std::make_tuple(drafter.hostSyncs, drafter.setDevice), std::make_tuple(1, std::optional<std::int64_t>(1)));
  EXPECT_EQ(contract.graphs, (std::vector<std::vector<std::int32_t>>{{1}}));

  TraceBuilder bad = good;
  bad.kernel("drafter", 0);
  bad.peerCopy("drafter", 1, 0);
  bad.call("cudaStreamSynchronize", "drafter", 11).step = 1;
  for (const char* id : {"A1", "A2", "A4", "A9"}) EXPECT_EQ(checkOf(bad, id, contract).state, AuditState::kFound) << id;
}

TEST(InferContractTest, GroupsThreadsByTheDevicesThatTheyShare) {
  TraceBuilder built;
  built.foreign();
  for (const auto& [device, thread] : {std::pair{0, 100}, {0, 101}, {1, 102}, {2, 102}}) {
    built.kernel("", device);
    built.trace.records[built.trace.records.size() - 2].thread = thread;
  }
  const Contract contract = inferContract(built.trace);
  ASSERT_EQ(contract.roles.size(), 2u);
  EXPECT_EQ(contract.roles.at("device[0]").threads, (std::vector<std::int64_t>{100, 101}));
  EXPECT_EQ(contract.roles.at("device[1, 2]").threads, std::vector<std::int64_t>{102});
  EXPECT_FALSE(auditTrace(built.trace, &contract).foundAny());
  built.kernel("", 1);
  built.trace.records[built.trace.records.size() - 2].thread = 100;
  EXPECT_EQ(checkOf(built, "A1", contract).state, AuditState::kFound);
}

TEST(InferContractTest, RefusesATraceWithoutDeviceWork) {
  TraceBuilder built;
  built.call("cudaSetDevice", "", 1);
  expectBadInput([&] { inferContract(built.trace); }, {"built.json", "no device work"});
}

TEST(RoleOfThreadTest, IsFoundByIdByNameAndByDefault) {
  TraceBuilder built;
  built.foreign();
  built.trace.files[0].threadNames = {{11, "drafter 0"}};
  built.kernel("", 0);
  built.trace.records[0].thread = 10;
  built.kernel("", 1);
  built.trace.records[2].thread = 11;
  Contract contract = twoRoles();
  EXPECT_EQ(checkOf(built, "A14", contract).count, 2);
  contract.roles["target"].threads = {10};
  EXPECT_EQ(checkOf(built, "A14", contract).count, 1);
  contract.roles["drafter"].threadNames = {"drafter*"};
  EXPECT_EQ(checkOf(built, "A14", contract).state, AuditState::kClean);
  EXPECT_EQ(checkOf(built, "A1", contract).state, AuditState::kClean);
  contract.roles["drafter"].threadNames = {"x*"};
  contract.roles["target"].unclaimed = true;
  EXPECT_EQ(checkOf(built, "A1", contract).count, 1);  // the drafter's kernel is taken for the target's
}

TEST(ContractTest, IsPlacedWhereTheDevicesAre) {
  devices::Topology topology;
  topology.deviceCount = 3;
  topology.roles = {{"target[0]", 0}, {"drafter[0]", 1}, {"drafter[1]", 2}};
  topology.copyEdges = {{0, 1}, {0, 2}, {1, 2}, {2, 1}};
  Contract contract = contractOf(topology);
  contract.roles["drafter[1]"].hostSyncs = 3;
  contract.graphs = {{1, 2}};
  EXPECT_EQ(contractText(placedOn(contract, {})), contractText(contract));
  const Contract placed = placedOn(contract, {0, 1, 0});
  EXPECT_EQ(placed.roles.at("drafter[1]").devices, std::vector<std::int32_t>{0});
  EXPECT_EQ(placed.roles.at("drafter[1]").hostSyncs, 3);
  for (const auto& [name, role] : placed.roles)
    for (const ContractCopy& copy : role.copies) EXPECT_NE(copy.from, copy.to) << name;
  EXPECT_EQ(placed.roles.at("target[0]").copies.size(), 1u);
  EXPECT_EQ(placed.graphs, (std::vector<std::vector<std::int32_t>>{{1, 0}}));
  EXPECT_THROW(placedOn(contract, {0, 1}), Error);
}

}  // namespace
}  // namespace redraft::harness
