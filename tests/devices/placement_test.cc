#include "devices/placement.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace redraft::devices {
namespace {

/// Two targets on 0 and 1, two drafters on 6 and 7.
Topology twoDrafters() {
  Topology topology;
  topology.deviceCount = 8;
  topology.peerAccess = false;
  topology.roles = {{"drafter[0]", 6}, {"drafter[1]", 7}, {"target[0]", 0}, {"target[1]", 1}};
  topology.copyEdges = {{0, 6}, {0, 7}, {1, 6}, {1, 7}, {6, 7}, {7, 6}};
  return topology;
}

using Edges = std::vector<std::pair<int, int>>;

TEST(PlacementTest, EveryLogicalDeviceIsItselfWhereNobodySaysOtherwise) {
  const Placement placement(twoDrafters());
  for (int device = 0; device < 8; ++device) EXPECT_EQ(placement.device(device), device);
  EXPECT_EQ(placement.physical().deviceCount, 8);
  EXPECT_EQ(placement.physical().copyEdges, twoDrafters().copyEdges);
  EXPECT_FALSE(placement.physical().peerAccess);
  EXPECT_FALSE(placement.together("drafter[0]", "drafter[1]"));
}

TEST(PlacementTest, EnoughGpusGiveEveryDeviceOneOfItsOwn) {
  EXPECT_EQ(Placement::onGpus(twoDrafters(), 8).devices(), Placement(twoDrafters()).devices());
  EXPECT_EQ(Placement::onGpus(twoDrafters(), 64).devices(), Placement(twoDrafters()).devices());
}

TEST(PlacementTest, OneGpuHoldsAllAndHasNoEdges) {
  const Placement placement = Placement::onGpus(twoDrafters(), 1);
  EXPECT_EQ(placement.physical().deviceCount, 1);
  EXPECT_EQ(placement.physical().deviceOf("drafter[1]"), 0);
  EXPECT_TRUE(placement.physical().copyEdges.empty());
  EXPECT_TRUE(placement.together("drafter[0]", "drafter[1]"));
}

TEST(PlacementTest, TwoGpusKeepTwoDraftersApart) {
  const Placement placement = Placement::onGpus(twoDrafters(), 2);
  EXPECT_EQ(placement.physical().deviceOf("drafter[0]"), 0);
  EXPECT_EQ(placement.physical().deviceOf("drafter[1]"), 1);
  EXPECT_FALSE(placement.together("drafter[0]", "drafter[1]"));
  EXPECT_TRUE(placement.together("drafter[0]", "target[0]"));
  EXPECT_EQ(placement.physical().copyEdges, (Edges{{0, 1}, {1, 0}}));
}

TEST(PlacementTest, ATopologyThatNamesItsGpusHasThem) {
  Topology topology = twoDrafters();
  topology.gpus = {0, 0, 0, 1, 1, 1, 0, 1};
  for (const int gpus : {2, 8}) EXPECT_EQ(Placement::onGpus(topology, gpus).devices(), topology.gpus) << gpus;
  const Placement placement = Placement::onGpus(topology, 2);
  EXPECT_FALSE(placement.together("drafter[0]", "drafter[1]"));
  EXPECT_TRUE(placement.together("target[0]", "target[1]"));
  EXPECT_EQ(placement.physical().copyEdges, (Edges{{0, 1}, {1, 0}}));
}

const std::vector<std::vector<std::string>> kTwoProcesses = {{"target[0]", "drafter[0]"}, {"target[1]", "drafter[1]"}};

TEST(PlacementTest, AProcessHasItsRolesOnGpusOfItsOwnAndKnowsWhereTheOthersAre) {
  for (const std::size_t self : {0u, 1u}) {
    const Placement two = Placement::onGpus(twoDrafters(), 2, {kTwoProcesses, self});
    for (const char* role : {"target[0]", "drafter[0]"}) EXPECT_EQ(two.physical().deviceOf(role), 0) << role;
    for (const char* role : {"target[1]", "drafter[1]"}) EXPECT_EQ(two.physical().deviceOf(role), 1) << role;
    const Placement four = Placement::onGpus(twoDrafters(), 4, {kTwoProcesses, self});
    EXPECT_EQ(four.physical().deviceOf("target[0]"), 0);
    EXPECT_EQ(four.physical().deviceOf("drafter[1]"), 3);
  }
  // One GPU a process is all that it sees where a launcher hides the others.
  EXPECT_EQ(Placement::onGpus(twoDrafters(), 1, {kTwoProcesses, 1}).devices(), std::vector<int>(8, 0));
}

TEST(PlacementTest, ADeviceThatRolesOfTwoProcessesShareIsWhereItsOwnAre) {
  Topology shared = twoDrafters();
  shared.roles.back().device = 6;  // target[1] beside drafter[0]
  EXPECT_EQ(Placement::onGpus(shared, 2, {kTwoProcesses, 0}).device(6), 0);
  EXPECT_EQ(Placement::onGpus(shared, 2, {kTwoProcesses, 1}).device(6), 1);
}

TEST(PlacementTest, RolesOfOneLogicalDeviceAreNotKeptApartByTheScenario) {
  Topology contexts;
  contexts.deviceCount = 1;
  contexts.roles = {{"drafter[0]", 0}, {"drafter[1]", 0}};
  EXPECT_FALSE(Placement::onGpus(contexts, 1).together("drafter[0]", "drafter[1]"));
}

TEST(PlacementTest, ARecordOfAnotherTopologyIsRefused) {
  EXPECT_EQ(Placement::recorded(twoDrafters(), {}).devices(), Placement(twoDrafters()).devices());
  EXPECT_EQ(Placement::recorded(twoDrafters(), {0, 1, 0, 1, 0, 1, 0, 1}).device(7), 1);
  EXPECT_THROW(Placement::recorded(twoDrafters(), {0, 1}), Error);
  EXPECT_THROW(Placement::recorded(twoDrafters(), {0, 1, 0, 1, 0, 1, 0, -1}), Error);
}

}  // namespace
}  // namespace redraft::devices
