// Random numbers of sim devices: a state a device, reproducible from a seed.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/sim/support.h"

namespace redraft::model::simtest {
namespace {

at::Generator newGenerator(int device, std::uint64_t seed) {
  at::Generator made =
      at::globalContext().getAcceleratorHooksInterface().getNewGenerator(static_cast<c10::DeviceIndex>(device));
  made.set_current_seed(seed);
  return made;
}

TEST(SimGeneratorTest, ASeedGivesTheNumbersOfTheCpu) {
  at::manual_seed(11);
  const at::Tensor cpu = at::randn({32});
  EXPECT_TRUE(sameBits(at::randn({32}, simOptions(3)), cpu));
  EXPECT_TRUE(sameBits(at::randn({32}, newGenerator(3, 11), simOptions(3)), cpu));
}

TEST(SimGeneratorTest, DevicesDoNotDrawFromEachOther) {
  at::manual_seed(11);
  const at::Tensor first = at::randn({8}, simOptions(3));
  at::randn({100}, simOptions(4));
  at::randn({100});
  const at::Tensor second = at::randn({8}, simOptions(3));
  at::manual_seed(11);
  EXPECT_TRUE(sameBits(at::randn({8}, simOptions(3)), first));
  EXPECT_TRUE(sameBits(at::randn({8}, simOptions(3)), second));
}

TEST(SimGeneratorTest, DropoutDrawsFromTheDevice) {
  const at::Tensor input = at::ones({64}, simOptions(3));
  at::manual_seed(5);
  const at::Tensor first = at::dropout(input, 0.5, true);
  at::manual_seed(5);
  at::rand({10});  // the CPU's generator moves on; the device's does not
  EXPECT_TRUE(sameBits(at::dropout(input, 0.5, true), first));
  EXPECT_FALSE(sameBits(at::dropout(input, 0.5, true), first));
}

TEST(SimGeneratorTest, StateRoundTripsAndClonesAreApart) {
  at::Generator generator = newGenerator(2, 9);
  const at::Tensor state = generator.get_state();
  at::Generator clone = generator.clone();
  const at::Tensor drawn = at::randn({8}, generator, simOptions(2));
  EXPECT_TRUE(sameBits(at::randn({8}, clone, simOptions(2)), drawn));
  generator.set_state(state);
  EXPECT_TRUE(sameBits(at::randn({8}, generator, simOptions(2)), drawn));
  EXPECT_EQ(generator.device(), simDevice(2));
  EXPECT_EQ(generator.current_seed(), 9u);
}

TEST(SimGeneratorTest, ACpuGeneratorIsRefused) {
  EXPECT_THAT(messageOf([] { at::empty({8}, simOptions(2)).normal_(0, 1, at::detail::createCPUGenerator()); }),
              ::testing::HasSubstr("expected a 'sim' device type for generator"));
}

}  // namespace
}  // namespace redraft::model::simtest
