#include "base/launch_environment.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace redraft {
namespace {

using Set = std::map<std::string, std::string>;

LaunchEnvironment read(const Set& set) {
  return readLaunchEnvironment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const Set& set) {
  try {
    read(set);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_FALSE(error.remedy().empty());
    return error.what();
  }
  return "";
}

Set with(Set set, const Set& more) {
  for (const auto& [name, value] : more) set[name] = value;
  return set;
}

Set without(Set set, const std::string& name) {
  set.erase(name);
  return set;
}

const Set kTorchrun = {{"RANK", "5"},
                       {"WORLD_SIZE", "8"},
                       {"LOCAL_RANK", "1"},
                       {"LOCAL_WORLD_SIZE", "4"},
                       {"MASTER_ADDR", "node7"},
                       {"MASTER_PORT", "29400"}};
const Set kSrun = {{"SLURM_PROCID", "3"},
                   {"SLURM_NTASKS", "4"},
                   {"SLURM_LOCALID", "1"},
                   {"SLURM_STEP_NODELIST", "gpu[07-09,12],cpu1"},
                   {"SLURM_JOB_ID", "4711012"}};
const Set kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                     {"OMPI_COMM_WORLD_SIZE", "2"},
                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};

TEST(LaunchEnvironmentTest, WithoutALauncherTheProcessIsAlone) {
  const LaunchEnvironment launch = read({{"PATH", "/bin"}, {"MASTER_ADDR", "left.over"}});
  EXPECT_TRUE(launch.alone());
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.launcher, "");
}

TEST(LaunchEnvironmentTest, ReadsTorchrun) {
  const LaunchEnvironment launch =
      read(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}));
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.worldSize, 8);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.localWorldSize, 4);
  EXPECT_EQ(launch.masterAddress, "node7");
  EXPECT_EQ(launch.masterPort, 29400);
  EXPECT_TRUE(launch.agentServesStore);
  EXPECT_EQ(launch.attempt, 2);
  EXPECT_FALSE(read(kTorchrun).agentServesStore);
}

TEST(LaunchEnvironmentTest, ReadsSrunAndMeetsOnTheStepsFirstHost) {
  const LaunchEnvironment launch = read(kSrun);
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.worldSize, 4);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.localWorldSize, std::nullopt);
  EXPECT_EQ(launch.masterAddress, "gpu07");
  EXPECT_EQ(launch.masterPort, 29512);
  EXPECT_EQ(read(with(kSrun, {{"SLURM_STEP_NUM_TASKS", "16"}})).worldSize, 16);
  EXPECT_EQ(read(with(kSrun, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1234"}})).masterPort, 1234);
}

TEST(LaunchEnvironmentTest, ABatchScriptIsNoTaskOfSrun) {
  EXPECT_TRUE(read(without(kSrun, "SLURM_STEP_NODELIST")).alone());
}

TEST(LaunchEnvironmentTest, ReadsMpirunAndMeetsOnThisHostWhenAllAreHere) {
  const LaunchEnvironment launch = read(kMpirun);
  EXPECT_EQ(launch.launcher, "mpirun");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.masterAddress, "127.0.0.1");
  EXPECT_NE(refusal(with(kMpirun, {{"OMPI_COMM_WORLD_SIZE", "4"}})).find("MASTER_ADDR"), std::string::npos);
}

TEST(LaunchEnvironmentTest, ReadsPmi) {
  const LaunchEnvironment launch =
      read({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(launch.launcher, "PMI");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.worldSize, 2);
}

TEST(LaunchEnvironmentTest, TorchrunStartedBySrunCounts) {
  EXPECT_EQ(read(with(kSrun, kTorchrun)).launcher, "torchrun");
  // Its rendezvous numbers nodes as they come.
  const Set same = {{"WORLD_SIZE", "4"}, {"RANK", "1"}, {"TORCHELASTIC_RUN_ID", "none"}};
  EXPECT_EQ(read(with(with(kSrun, kTorchrun), same)).rank, 1);
}

TEST(LaunchEnvironmentTest, AHalfSetLauncherIsRefusedWithWhatIsMissing) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"}) {
    const std::string text = refusal(without(kTorchrun, name));
    EXPECT_NE(text.find(std::string(name) + " not"), std::string::npos) << text;
  }
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}}).find("RANK, LOCAL_RANK not"), std::string::npos);
  EXPECT_NE(refusal(without(kMpirun, "OMPI_COMM_WORLD_LOCAL_RANK")).find("OMPI_COMM_WORLD_LOCAL_RANK not"),
            std::string::npos);
  EXPECT_NE(refusal(without(kSrun, "SLURM_LOCALID")).find("SLURM_LOCALID not"), std::string::npos);
  EXPECT_NE(refusal(without(kTorchrun, "MASTER_ADDR")).find("MASTER_ADDR"), std::string::npos);
  EXPECT_NE(refusal(without(kTorchrun, "MASTER_PORT")).find("MASTER_PORT"), std::string::npos);
}

TEST(LaunchEnvironmentTest, ContradictionsAreRefused) {
  EXPECT_NE(refusal(with(kTorchrun, {{"RANK", "8"}})).find("rank 8 of 8"), std::string::npos);
  EXPECT_NE(refusal(with(kTorchrun, {{"LOCAL_RANK", "4"}})).find("local rank 4 of 4"), std::string::npos);
  EXPECT_NE(refusal(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})).find("of 9 on this host, of 8"), std::string::npos);
  EXPECT_NE(refusal(with(kTorchrun, {{"RANK", "0"}})).find("beyond rank 0"), std::string::npos);
  // A script that exports RANK=0 for every task of srun.
  const Set exported = {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}};
  EXPECT_NE(refusal(with(with(kSrun, kTorchrun), exported)).find("rank 0 by torchrun, 3 by srun"), std::string::npos);
}

TEST(LaunchEnvironmentTest, WhatIsNoNumberIsRefused) {
  for (const char* text : {"", "x", "1x", "-1", "99999999999999999999", " 1"})
    EXPECT_NE(refusal(with(kTorchrun, {{"RANK", text}})).find("variable RANK"), std::string::npos) << text;
  for (const char* text : {"0", "65536", "http"})
    EXPECT_NE(refusal(with(kTorchrun, {{"MASTER_PORT", text}})).find("MASTER_PORT"), std::string::npos) << text;
}

TEST(LaunchEnvironmentTest, FirstHostReadsSlurmsLists) {
  EXPECT_EQ(firstHost("node1"), "node1");
  EXPECT_EQ(firstHost("node1,node2"), "node1");
  EXPECT_EQ(firstHost("node[01-03,07],other"), "node01");
  EXPECT_EQ(firstHost("rack[2-3]-node[10,12]-ib"), "rack2-node10-ib");
  for (const char* text : {"", ",", "node[", "node[]", "node[a]", "node[1", "no de"})
    EXPECT_THROW(firstHost(text), Error) << text;
}

TEST(LaunchEnvironmentTest, WhatOneLaunchesIsReadBack) {
  Set set;
  for (const auto& [name, value] : launchVariables(1, 2, 4711)) set[name] = value;
  const LaunchEnvironment launch = read(with(without(kSrun, "none"), set));
  EXPECT_EQ(launch.launcher, "redraft");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.worldSize, 2);
  EXPECT_EQ(launch.masterPort, 4711);
  EXPECT_EQ(launch.storeSocket, std::nullopt);
  Set first;
  for (const auto& [name, value] : launchVariables(0, 2, 4711)) first[name] = value;
  first[kStoreSocketVariable] = "9";
  EXPECT_EQ(read(first).storeSocket, 9);
}

}  // namespace
}  // namespace redraft
