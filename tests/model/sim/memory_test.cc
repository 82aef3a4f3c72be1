// Every byte of a sim tensor is on some device's account, whoever allocated it, and off again when the tensor dies.
#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "model/role.h"
#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

struct Account {
  explicit Account(int device) : bytes(liveBytes(device)), segments(liveSegments(device)) {}
  bool operator==(const Account&) const = default;
  std::int64_t bytes;
  std::int64_t segments;
};

TEST(SimMemoryTest, FactoriesAndKernelResultsAreAccounted) {
  const Account before(6);
  {
    const at::Tensor made = at::empty({1024}, simOptions(6));
    EXPECT_EQ(liveBytes(6), before.bytes + 4096);
    const at::Tensor sum = made.add(1);
    EXPECT_EQ(liveBytes(6), before.bytes + 8192);
    EXPECT_EQ(liveSegments(6), before.segments + 2);
    const at::Tensor view = sum.view({32, 32}).t();
    EXPECT_EQ(liveBytes(6), before.bytes + 8192);
  }
  EXPECT_EQ(Account(6), before);
}

TEST(SimMemoryTest, AViewKeepsTheMemoryAlive) {
  const Account before(6);
  at::Tensor view;
  {
    const at::Tensor base = at::ones({1024}, simOptions(6)).mul(2);
    view = base.slice(0, 10, 20);
  }
  EXPECT_EQ(liveBytes(6), before.bytes + 4096);
  EXPECT_EQ(view.sum().item<float>(), 20);
  view.reset();
  EXPECT_EQ(Account(6), before);
}

TEST(SimMemoryTest, GrowingAnOutputMovesItsAccount) {
  const Account before(6);
  {
    at::Tensor out = at::empty({0}, simOptions(6));
    const at::Tensor one = at::ones({256}, simOptions(6));
    at::add_out(out, one, one);
    EXPECT_EQ(liveBytes(6), before.bytes + 2048);
    at::Tensor grown = one.mul(2);
    grown.resize_({512});
    EXPECT_EQ(liveBytes(6), before.bytes + 4096);
  }
  EXPECT_EQ(Account(6), before);
}

TEST(SimMemoryTest, OtherDevicesAreNotCharged) {
  const Account zero(0), seven(7);
  const at::Tensor tensor = at::ones({1024}, simOptions(6)).exp().sum();
  EXPECT_EQ(Account(0), zero);
  EXPECT_EQ(Account(7), seven);
}

TEST(SimMemoryTest, ChargesTheRoleThatAllocates) {
  const auto bytesOf = [](const std::string& role) {
    std::int64_t bytes = 0;
    for (const auto& entry : simDriver().roleMemory())
      if (devices::roleName(entry.role) == role && entry.device == 6) bytes += entry.bytes;
    return bytes;
  };
  const RoleScope role("memory[0]");
  const at::Tensor tensor = at::ones({1024}, simOptions(6)).add(1);
  EXPECT_GE(bytesOf("memory[0]"), 8192);
}

TEST(SimMemoryTest, BackwardLeavesNothingBehind) {
  const Account before(6);
  {
    at::Tensor weight = at::ones({16, 16}, simOptions(6)).requires_grad_();
    for (int i = 0; i < 3; ++i) weight.mm(weight).relu().sum().backward();
  }
  EXPECT_EQ(Account(6), before);
}

TEST(SimMemoryTest, DevicePointersAreKnownToTheDriver) {
  const at::Tensor made = at::ones({64}, simOptions(5)), result = made.add(1);
  for (const at::Tensor& tensor : {made, result}) {
    int device = -1;
    devices::check(simDriver().pointerDevice(tensor.const_data_ptr(), &device), "pointerDevice", 5);
    EXPECT_EQ(device, 5);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64, 0u);
    EXPECT_EQ(at::globalContext().getDeviceFromPtr(tensor.data_ptr(), simDevice(0).type()), simDevice(5));
  }
}

TEST(SimMemoryTest, MoreThanTheDeviceHoldsIsRefused) {
  const Account before(6);
  EXPECT_EQ(statusOf([] { at::empty({std::int64_t{1} << 40}, simOptions(6)); }), devices::Status::kOutOfMemory);
  EXPECT_EQ(Account(6), before);
}

}  // namespace
}  // namespace redraft::model::simtest
