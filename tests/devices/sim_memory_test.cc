#include <cstring>
#include <limits>
#include <thread>

#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

class SimMemoryTest : public ::testing::Test {
 protected:
  SimMemoryTest() {
    driver = makeSimDriver({fullTopology(2), 1000, 256, true});
    for (int device : {0, 1}) check(driver->primaryContext(device, &contexts[device]), "primaryContext", device);
    check(driver->setCurrent(contexts[0]), "setCurrent", 0);
  }
  ~SimMemoryTest() override { setOriginProvider(nullptr); }

  void* allocate(std::size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(driver->allocate(bytes, &pointer), Status::kSuccess);
    return pointer;
  }
  MemoryInfo info(int device) {
    MemoryInfo info;
    EXPECT_EQ(driver->memoryInfo(device, &info), Status::kSuccess);
    return info;
  }

  std::unique_ptr<SimDriver> driver;
  Context contexts[2];
};

TEST_F(SimMemoryTest, MemoryIsTheCurrentDevicesAndCountedThere) {
  void* first = allocate(100);
  ASSERT_EQ(driver->setCurrent(contexts[1]), Status::kSuccess);
  void* second = allocate(200);
  int device = -1;
  EXPECT_EQ(driver->pointerDevice(first, &device), Status::kSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(driver->pointerDevice(static_cast<char*>(second) + 199, &device), Status::kSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(info(0).live, 100);
  EXPECT_EQ(info(1).live, 200);
  EXPECT_EQ(info(1).segments, 1);
  EXPECT_EQ(driver->free(first), Status::kSuccess) << "from another device's context";
  EXPECT_EQ(driver->free(second), Status::kSuccess);
}

TEST_F(SimMemoryTest, PeakOutlivesTheMemoryUntilItIsReset) {
  void* big = allocate(600);
  ASSERT_EQ(driver->free(big), Status::kSuccess);
  void* small = allocate(50);
  EXPECT_EQ(info(0).live, 50);
  EXPECT_EQ(info(0).peak, 600);
  EXPECT_EQ(info(0).allocations, 2);
  ASSERT_EQ(driver->resetPeak(0), Status::kSuccess);
  EXPECT_EQ(info(0).peak, 50);
  ASSERT_EQ(driver->free(small), Status::kSuccess);
}

TEST_F(SimMemoryTest, AFullDeviceIs2AndSaysWhatRemains) {
  void* held = allocate(900);
  void* pointer = held;
  EXPECT_EQ(driver->allocate(101, &pointer), Status::kOutOfMemory);
  EXPECT_EQ(pointer, nullptr);
  const LogRecord record = driver->log().records().back();
  EXPECT_EQ(record.kind, CallKind::kAllocate);
  EXPECT_EQ(record.detail, "101 bytes asked for, 100 of 1000 remain on device 0");
  EXPECT_EQ(driver->allocate(std::numeric_limits<std::size_t>::max(), &pointer), Status::kOutOfMemory);
  EXPECT_EQ(info(0).live, 900);
  EXPECT_EQ(info(0).segments, 1);
  ASSERT_EQ(driver->setCurrent(contexts[1]), Status::kSuccess);
  void* elsewhere = allocate(1000);
  EXPECT_EQ(driver->free(elsewhere), Status::kSuccess);
  EXPECT_EQ(driver->free(held), Status::kSuccess);
}

TEST_F(SimMemoryTest, WrongFreesAreInvalidAndChangeNothing) {
  char host = 0;
  auto* pointer = static_cast<char*>(allocate(64));
  EXPECT_EQ(driver->free(pointer + 1), Status::kInvalidValue);
  EXPECT_EQ(driver->free(&host), Status::kInvalidValue);
  EXPECT_EQ(driver->releaseMemory(pointer), Status::kInvalidValue) << "the driver's own, not adopted";
  EXPECT_EQ(info(0).live, 64);
  EXPECT_EQ(driver->free(pointer), Status::kSuccess);
  EXPECT_EQ(driver->free(pointer), Status::kInvalidValue) << "twice";
  EXPECT_EQ(driver->free(nullptr), Status::kSuccess);
  EXPECT_EQ(info(0).live, 0);
}

TEST_F(SimMemoryTest, ZeroBytesAreInvalid) {
  void* pointer = this;
  EXPECT_EQ(driver->allocate(0, &pointer), Status::kInvalidValue);
  EXPECT_EQ(pointer, nullptr);
}

TEST_F(SimMemoryTest, HostPointersHaveNoDevice) {
  int device = 5;
  int host = 0;
  EXPECT_EQ(driver->pointerDevice(&host, &device), Status::kInvalidValue);
  EXPECT_EQ(device, -1);
}

TEST_F(SimMemoryTest, AdoptedMemoryCountsForItsDeviceUntilReleased) {
  std::vector<char> owned(300);
  int device = -1;
  ASSERT_EQ(driver->adoptMemory(owned.data(), owned.size(), 1), Status::kSuccess);
  EXPECT_EQ(info(1).live, 300);
  EXPECT_EQ(info(1).allocations, 1);
  EXPECT_EQ(driver->pointerDevice(owned.data() + 299, &device), Status::kSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(driver->adoptMemory(owned.data(), owned.size(), 1), Status::kInvalidValue) << "twice";
  EXPECT_EQ(driver->adoptMemory(owned.data() + 10, 5, 0), Status::kInvalidValue) << "inside adopted memory";
  EXPECT_EQ(driver->free(owned.data()), Status::kInvalidValue) << "not the driver's to free";
  EXPECT_EQ(driver->adoptMemory(owned.data(), 0, 1), Status::kInvalidValue);
  EXPECT_EQ(driver->adoptMemory(owned.data(), 1, 2), Status::kInvalidDevice);
  ASSERT_EQ(driver->releaseMemory(owned.data()), Status::kSuccess);
  EXPECT_EQ(driver->releaseMemory(owned.data()), Status::kInvalidValue);
  EXPECT_EQ(info(1).live, 0);
  std::vector<char> tooMuch(1001);
  EXPECT_EQ(driver->adoptMemory(tooMuch.data(), tooMuch.size(), 1), Status::kOutOfMemory);
  EXPECT_EQ(info(1).live, 0);
}

TEST_F(SimMemoryTest, AStrayAllocationShowsUnderItsRoleAndDevice) {
  setOriginProvider([] { return Origin{roleId("drafter[stray]"), Phase::kNone, 0}; });
  void* pointer = allocate(40);
  setOriginProvider(nullptr);
  void* nobodys = allocate(8);
  RoleMemory stray;
  for (const RoleMemory& each : driver->roleMemory()) {
    if (each.role == roleId("drafter[stray]")) stray = each;
  }
  EXPECT_EQ(stray.device, 0);
  EXPECT_EQ(stray.bytes, 40);
  EXPECT_EQ(stray.allocations, 1);
  EXPECT_EQ(driver->roleMemory().size(), 2u);
  EXPECT_EQ(driver->free(pointer), Status::kSuccess);
  EXPECT_EQ(driver->free(nobodys), Status::kSuccess);
}

TEST_F(SimMemoryTest, MemoryThatIsNotFreedGoesWithTheDriver) {
  std::memset(allocate(128), 1, 128);  // the leak checker sees to the rest
  EXPECT_EQ(info(0).segments, 1);
}

TEST(SimOptionsTest, ATopologyThatNamesDevicesItDoesNotHaveIsBadInput) {
  Topology none;
  none.deviceCount = 0;
  EXPECT_THROW(makeSimDriver({none}), Error);
  Topology edge = fullTopology(2);
  edge.copyEdges.emplace_back(0, 2);
  EXPECT_THROW(makeSimDriver({edge}), Error);
  Topology role = fullTopology(2);
  role.roles.push_back({"drafter[0]", 6});
  EXPECT_THROW(makeSimDriver({role}), Error);
}

}  // namespace
}  // namespace redraft::devices
