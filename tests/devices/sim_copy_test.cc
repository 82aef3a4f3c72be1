#include <array>
#include <numeric>

#include "devices/sim/work_times.h"
#include "tests/devices/sim_fixture.h"

namespace redraft::devices {
namespace {

/// Three devices; copies are allowed 0 → 1 only.
class SimCopyTest : public ::testing::Test {
 protected:
  SimCopyTest() {
    Topology topology;
    topology.deviceCount = 3;
    topology.copyEdges = {{0, 1}};
    driver = makeSimDriver({topology});
    for (int device = 0; device < 3; ++device) {
      const ContextGuard guard(*driver, device);
      void* pointer = nullptr;
      check(driver->allocate(kBytes, &pointer), "allocate", device);
      memory[device] = static_cast<int*>(pointer);
      std::iota(memory[device], memory[device] + 64, 1000 * device);
    }
    Context context;
    check(driver->primaryContext(0, &context), "primaryContext", 0);
    check(driver->setCurrent(context), "setCurrent", 0);
  }

  LogRecord last() const {
    const auto records = driver->log().records();
    EXPECT_FALSE(records.empty());
    return records.empty() ? LogRecord{} : records.back();
  }

  static constexpr std::size_t kBytes = 64 * sizeof(int);
  std::unique_ptr<SimDriver> driver;
  std::array<int*, 3> memory{};
};

TEST_F(SimCopyTest, HostToDeviceAndBackKeepsTheBytes) {
  std::array<int, 64> host;
  std::array<int, 64> back{};
  std::iota(host.begin(), host.end(), 7);
  ASSERT_EQ(driver->copy(memory[0], host.data(), kBytes, {}), Status::kSuccess);
  EXPECT_EQ(last().fromDevice, -1);
  EXPECT_EQ(last().toDevice, 0);
  ASSERT_EQ(driver->copy(back.data(), memory[0], kBytes, {}), Status::kSuccess);
  EXPECT_EQ(last().toDevice, -1);
  EXPECT_EQ(back, host);
}

TEST_F(SimCopyTest, AnAllowedEdgeIsStagedUntilPeerAccessIsOn) {
  ASSERT_EQ(driver->copy(memory[1], memory[0], kBytes, {}), Status::kSuccess);
  EXPECT_EQ(memory[1][63], 63);
  EXPECT_TRUE(last().staged);
  EXPECT_EQ(last().fromDevice, 0);
  EXPECT_EQ(last().toDevice, 1);
  EXPECT_EQ(last().bytes, static_cast<std::int64_t>(kBytes));
  ASSERT_EQ(driver->enablePeerAccess(0, 1), Status::kSuccess);
  ASSERT_EQ(driver->copy(memory[1], memory[0], kBytes, {}), Status::kSuccess);
  EXPECT_FALSE(last().staged);
}

TEST_F(SimCopyTest, AnEdgeOutsideTheTopologyIs217AndMovesNothing) {
  ASSERT_EQ(driver->copy(memory[0], memory[1], kBytes, {}), Status::kPeerAccessUnsupported);
  EXPECT_EQ(memory[0][0], 0);
  EXPECT_EQ(last().detail, "the topology allows no copy from device 1 to device 0");
  ASSERT_EQ(driver->copy(memory[2], memory[0], kBytes, {}), Status::kPeerAccessUnsupported);
  EXPECT_EQ(driver->synchronizeContext(), Status::kSuccess);
}

TEST_F(SimCopyTest, ACopyOnAnotherDevicesStreamSucceedsAndNamesTheForeignSides) {
  const ContextGuard guard(*driver, 2);
  ASSERT_EQ(driver->copy(memory[1], memory[0], kBytes, {}), Status::kSuccess);
  ASSERT_EQ(last().foreign.size(), 2u);
  EXPECT_EQ(last().foreign[0].name, "source");
  EXPECT_EQ(last().foreign[0].device, 0);
  EXPECT_EQ(last().foreign[1].name, "destination");
  EXPECT_EQ(last().foreign[1].device, 1);
}

TEST_F(SimCopyTest, OverlappingRangesOfOneDeviceCopyAsMemmove) {
  ASSERT_EQ(driver->copy(memory[0] + 1, memory[0], 63 * sizeof(int), {}), Status::kSuccess);
  EXPECT_EQ(memory[0][0], 0);
  EXPECT_EQ(memory[0][1], 0);
  EXPECT_EQ(memory[0][63], 62);
}

TEST_F(SimCopyTest, RangesBeyondAnAllocationAndNullAreInvalid) {
  std::array<int, 128> host{};
  EXPECT_EQ(driver->copy(memory[0], host.data(), kBytes + 1, {}), Status::kInvalidValue);
  EXPECT_EQ(driver->copy(host.data(), memory[0] + 1, kBytes, {}), Status::kInvalidValue);
  EXPECT_EQ(driver->copy(nullptr, memory[0], 4, {}), Status::kInvalidValue);
  EXPECT_EQ(driver->copy(nullptr, nullptr, 0, {}), Status::kSuccess) << "an empty copy touches nothing";
}

TEST_F(SimCopyTest, SaysWhenItRanBehindItsRecordWhereThatIsAsked) {
  std::vector<std::array<std::int64_t, 3>> works;  // begin, length, calls logged before
  setWorkSink(*driver, [&](std::int64_t begin, std::int64_t lasted) {
    works.push_back({begin, lasted, static_cast<std::int64_t>(driver->log().count(CallKind::kCopy))});
  });
  check(driver->copy(memory[0] + 8, memory[0], 16, {}), "copy", 0);
  EXPECT_NE(driver->copy(nullptr, memory[0], 16, {}), Status::kSuccess);  // refused: nothing ran
  setWorkSink(*driver, {});
  check(driver->copy(memory[0] + 8, memory[0], 16, {}), "copy", 0);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_GE(works[0][1], 0);
  EXPECT_EQ(works[0][2], 1);
  EXPECT_GE(works[0][0], driver->log().records().front().nanos);
}

}  // namespace
}  // namespace redraft::devices
