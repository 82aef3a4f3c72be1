// What ops read and write, in the driver's race check.
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

using devices::CallKind;

c10::Stream newStream(int device) {
  return c10::impl::getDeviceGuardImpl(c10::DeviceType::PrivateUse1)->getNewStream(simDevice(device), 0);
}

class OpRaceTest : public ::testing::Test {
 protected:
  void SetUp() override { registerSim(simDriver(), {.opRaces = true}); }
  void TearDown() override { registerSim(simDriver()); }

  /// A tensor that no stream has unfinished work on.
  static at::Tensor settledOnes(at::IntArrayRef sizes) {
    at::Tensor ones = at::ones(sizes, simOptions(1));
    c10::impl::getDeviceGuardImpl(c10::DeviceType::PrivateUse1)->synchronizeDevice(1);
    return ones;
  }

  /// Races that `work` adds.
  template <class Work>
  static std::uint64_t racesOf(Work work) {
    const std::uint64_t before = simDriver().log().count(CallKind::kRace);
    work();
    return simDriver().log().count(CallKind::kRace) - before;
  }
  static std::string newestRace() {
    std::string detail;
    for (const devices::LogRecord& record : simDriver().log().records())
      if (record.kind == CallKind::kRace) detail = record.detail;
    return detail;
  }

  const c10::DeviceGuard device_{simDevice(1)};
  const c10::Stream producer_ = newStream(1), consumer_ = newStream(1);
};

TEST_F(OpRaceTest, AnOpThatReadsBeforeTheHandOffsEventIsWaitedForIsFound) {
  const at::Tensor base = settledOnes({8});
  at::Tensor handed;
  c10::Event ready(c10::DeviceType::PrivateUse1);
  {
    const c10::StreamGuard stream(producer_);
    handed = base.mul(2);
    ready.record(producer_);
  }
  const c10::StreamGuard stream(consumer_);
  EXPECT_EQ(racesOf([&] { handed.add(1); }), 1u);
  EXPECT_NE(newestRace().find("aten::add reads \"self\""), std::string::npos) << newestRace();
  EXPECT_NE(newestRace().find("after aten::mul writes \"result\""), std::string::npos) << newestRace();
  ready.block(consumer_);
  EXPECT_EQ(racesOf([&] { handed.add(1); }), 0u);
}

TEST_F(OpRaceTest, AnOpThatWritesWhatAnotherStreamStillReadsIsFound) {
  at::Tensor shared = settledOnes({8});
  {
    const c10::StreamGuard stream(producer_);
    shared.sum();
  }
  const c10::StreamGuard stream(consumer_);
  EXPECT_EQ(racesOf([&] { shared.add_(1); }), 1u);
}

TEST_F(OpRaceTest, ACopyWithinADeviceReadsAndWritesAsAnyOp) {
  const at::Tensor source = settledOnes({8});
  at::Tensor target = at::empty({8}, simOptions(1));
  {
    const c10::StreamGuard stream(producer_);
    target.copy_(source);
  }
  const c10::StreamGuard stream(consumer_);
  EXPECT_EQ(racesOf([&] { target.sum(); }), 1u);
}

TEST_F(OpRaceTest, ViewsAndShapesTouchNothing) {
  at::Tensor written;
  {
    const c10::StreamGuard stream(producer_);
    written = at::ones({4, 4}, simOptions(1)).mul(2);
  }
  const c10::StreamGuard stream(consumer_);
  EXPECT_EQ(racesOf([&] {
              written.t().select(0, 1).unsqueeze(0);
              at::zeros_like(written);
            }),
            0u);
}

TEST_F(OpRaceTest, PartsThatDoNotOverlapAndCommonReadsAreNoRace) {
  at::Tensor whole = settledOnes({4, 4});
  {
    const c10::StreamGuard stream(producer_);
    whole.narrow(0, 0, 2).add_(1);
  }
  const c10::StreamGuard stream(consumer_);
  EXPECT_EQ(racesOf([&] {
              whole.narrow(0, 2, 2).add_(1);
              whole.narrow(0, 2, 2).sum();
            }),
            0u);
}

TEST_F(OpRaceTest, MemoryThatIsTakenAgainHasNoPast) {
  for (int i = 0; i < 64; ++i) {
    const c10::StreamGuard stream(i % 2 == 0 ? producer_ : consumer_);
    EXPECT_EQ(racesOf([&] { at::ones({64}, simOptions(1)).mul(2).sum(); }), 0u) << i;
  }
}

TEST_F(OpRaceTest, NothingIsNotedUnlessAskedFor) {
  registerSim(simDriver());
  at::Tensor shared = settledOnes({8});
  {
    const c10::StreamGuard stream(producer_);
    shared.add_(1);
  }
  const c10::StreamGuard stream(consumer_);
  EXPECT_EQ(racesOf([&] { shared.add_(1); }), 0u);
}

}  // namespace
}  // namespace redraft::model::simtest
