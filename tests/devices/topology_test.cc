#include "devices/topology.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace redraft::devices {
namespace {

Topology pipeline() {
  Topology topology;
  topology.roles = {{"target[0]", 0}, {"drafter[0]", 6}, {"drafter[1]", 7}};
  topology.copyEdges = {{0, 6}, {0, 7}};
  return topology;
}

TEST(TopologyTest, MapsRolesToDevices) { EXPECT_EQ(pipeline().deviceOf("drafter[1]"), 7); }

TEST(TopologyTest, AnUnknownRoleIsBadInputThatNamesTheNearest) {
  try {
    pipeline().deviceOf("draftre[1]");
    FAIL() << "an unknown role has a device";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_NE(error.remedy().find("drafter[1]"), std::string::npos) << error.remedy();
  }
  EXPECT_THROW(Topology().deviceOf("anything"), Error);
}

TEST(TopologyTest, CopiesGoOneWayAlongEdges) {
  EXPECT_TRUE(pipeline().allowsCopy(0, 6));
  EXPECT_FALSE(pipeline().allowsCopy(6, 0));
  EXPECT_FALSE(pipeline().allowsCopy(6, 7));
  EXPECT_TRUE(pipeline().allowsCopy(3, 3));
}

}  // namespace
}  // namespace redraft::devices
