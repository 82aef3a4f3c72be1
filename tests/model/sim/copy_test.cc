// Copies: what they move, what the driver's log sees of them, and which edges are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/role.h"
#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

/// Copies that `call` makes, as the driver's log has them.
std::vector<devices::LogRecord> copiesDuring(const std::function<void()>& call) {
  std::vector<devices::LogRecord> copies;
  simDriver().log().setSink([&](const devices::LogRecord& record) {
    if (record.kind == devices::CallKind::kCopy) copies.push_back(record);
  });
  call();
  simDriver().log().setSink(nullptr);
  return copies;
}

auto copyOf(int from, int to, std::int64_t bytes) {
  return AllOf(Field(&devices::LogRecord::fromDevice, from), Field(&devices::LogRecord::toDevice, to),
               Field(&devices::LogRecord::bytes, bytes));
}

TEST(SimCopyTest, HostCopiesAreLoggedOnce) {
  const at::Tensor host = at::arange(6, at::kFloat);
  at::Tensor sim;
  EXPECT_THAT(copiesDuring([&] { sim = host.to(simDevice(6)); }), ElementsAre(copyOf(-1, 6, 24)));
  EXPECT_THAT(copiesDuring([&] { EXPECT_TRUE(at::equal(sim.cpu(), host)); }), ElementsAre(copyOf(6, -1, 24)));
}

TEST(SimCopyTest, DeviceCopiesAreLoggedWithBothDevicesAndTheRole) {
  const RoleScope role("drafter[1]");
  const at::Tensor sim = on(6, at::arange(6, at::kFloat));
  const auto copies = copiesDuring([&] { EXPECT_TRUE(sameBits(sim.to(simDevice(7)), sim)); });
  ASSERT_GE(copies.size(), 1u);
  EXPECT_THAT(copies.front(), copyOf(6, 7, 24));
  EXPECT_EQ(devices::roleName(copies.front().origin.role), "drafter[1]");
}

TEST(SimCopyTest, TheFirstCopyBetweenTwoDevicesTurnsPeerAccessOnOneWay) {
  const at::Tensor copied = at::ones({2}, simOptions(1)).to(simDevice(2));
  EXPECT_EQ(simDriver().enablePeerAccess(1, 2), devices::Status::kPeerAccessAlreadyEnabled);
  EXPECT_EQ(simDriver().enablePeerAccess(2, 1), devices::Status::kSuccess);
}

TEST(SimCopyTest, ItemIsACopyToTheHost) {
  const at::Tensor sim = on(6, at::scalar_tensor(2.5));
  EXPECT_THAT(copiesDuring([&] { EXPECT_EQ(sim.item<float>(), 2.5f); }), ElementsAre(copyOf(6, -1, 4)));
}

TEST(SimCopyTest, ConvertsOnTheSourceDevice) {
  const at::Tensor sim = on(6, at::arange(6, at::kFloat));
  at::Tensor half;
  EXPECT_THAT(copiesDuring([&] { half = sim.to(simDevice(7), at::kBFloat16); }), ElementsAre(copyOf(6, 7, 12)));
  EXPECT_TRUE(sameBits(half, at::arange(6, at::kFloat).to(at::kBFloat16)));
}

TEST(SimCopyTest, StridedTensorsAreGatheredAndScattered) {
  const at::Tensor host = at::arange(24, at::kFloat).view({4, 6});
  const at::Tensor sim = on(6, host);
  EXPECT_TRUE(sameBits(sim.t().slice(0, 1, 5, 2).to(simDevice(7)), host.t().slice(0, 1, 5, 2)));
  at::Tensor destination = at::zeros({6, 4}, simOptions(7));
  destination.t().copy_(sim);
  EXPECT_TRUE(sameBits(destination, host.t().contiguous()));
  destination.slice(1, 0, 4, 2).copy_(at::ones({1}));
  EXPECT_EQ(destination.slice(1, 0, 4, 2).sum().item<float>(), 12);
  at::Tensor back = at::zeros({6, 4});
  back.t().copy_(sim);
  EXPECT_TRUE(sameBits(back, host.t().contiguous()));
}

TEST(SimCopyTest, KeepsDenseStridesWithoutStaging) {
  const at::Tensor transposed = on(6, at::arange(24, at::kFloat).view({4, 6})).t();
  at::Tensor copy;
  EXPECT_THAT(copiesDuring([&] { copy = transposed.to(simDevice(7)); }), ElementsAre(copyOf(6, 7, 96)));
  EXPECT_EQ(copy.strides(), transposed.strides());
}

TEST(SimCopyTest, CopiesWithinADeviceAreKernels) {
  const at::Tensor sim = on(6, at::arange(6, at::kFloat));
  EXPECT_THAT(copiesDuring([&] { EXPECT_TRUE(sameBits(sim.clone(), sim)); }).size(), 2);  // the comparison's own
}

TEST(SimCopyTest, AnEdgeOutsideTheTopologyIsRefusedByName) {
  const RoleScope role("target[3]");
  const at::Tensor sim = at::ones({2}, simOptions(3));
  EXPECT_EQ(statusOf([&] { sim.to(simDevice(5)); }), devices::Status::kPeerAccessUnsupported);
  const std::string message = messageOf([&] { sim.to(simDevice(5)); });
  EXPECT_THAT(message, AllOf(HasSubstr("aten::copy_"), HasSubstr("sim:3 -> sim:5"), HasSubstr("role target[3]")));
  EXPECT_TRUE(sameBits(at::ones({2}, simOptions(5)).to(simDevice(3)), at::ones({2})));  // the other way is allowed
  EXPECT_TRUE(sameBits(sim.cpu().to(simDevice(5)), at::ones({2})));                     // and through the host
}

TEST(SimCopyTest, NonBlockingFromPinnedMemory) {
  const at::Tensor pinned = at::arange(6, at::kFloat).pin_memory();
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_FALSE(at::ones({2}).is_pinned());
  EXPECT_TRUE(sameBits(pinned.to(simDevice(2), at::kFloat, /*non_blocking=*/true), pinned));
}

}  // namespace
}  // namespace redraft::model::simtest
