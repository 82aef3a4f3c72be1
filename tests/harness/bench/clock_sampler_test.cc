#include "harness/bench/clock_sampler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/paths.h"

namespace redraft::harness {
namespace {

using devices::GpuClock;

TEST(ClockSamplerTest, AReadingIsOfTheGpusThatWork) {
  const std::vector<GpuClock> samples = {{"a", 1900, false, ""}, {"b", 345, true, ""},
                                         {"a", 1920, false, ""}, {"b", 345, true, ""},
                                         {"a", 345, true, ""},   {"b", 1000, false, "power brake"}};
  const ClockReading reading = readingOf(samples, {});
  ASSERT_TRUE(reading.mhz);
  EXPECT_EQ(*reading.mhz, 1910);
  EXPECT_TRUE(reading.slowdown.empty()) << "b hardly worked";
}

TEST(ClockSamplerTest, AReadingIsOfTheGpusThatTheRunNames) {
  const std::vector<GpuClock> samples = {{"a", 1900, false, "thermal slowdown"}, {"b", 1500, false, ""}};
  EXPECT_EQ(*readingOf(samples, {}).mhz, 1700);
  EXPECT_EQ(*readingOf(samples, {"b"}).mhz, 1500);
  EXPECT_EQ(readingOf(samples, {"a"}).slowdown, std::vector<std::string>{"thermal slowdown"});
  EXPECT_FALSE(readingOf(samples, {"c"}).mhz);
  EXPECT_FALSE(readingOf({}, {}).mhz);
}

TEST(ClockSamplerTest, SamplesWhileItIsAskedTo) {
  ClockSampler sampler((std::string(kBinaryFolder) + "/tests/fake_nvml/libfake_nvml.so").c_str());
  ASSERT_EQ(sampler.problem(), "");
  EXPECT_TRUE(sampler.take().empty());
  sampler.sample(true);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::vector<GpuClock> samples;
  while (samples.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
    samples = sampler.take();
  }
  sampler.sample(false);
  ASSERT_FALSE(samples.empty());
  EXPECT_EQ(*readingOf(samples, {}).mhz, 1755);
}

TEST(ClockSamplerTest, WithoutNvmlItSaysSoAndSamplesNothing) {
  ClockSampler sampler("libno-such-nvml.so.1");
  sampler.sample(true);
  EXPECT_EQ(sampler.problem(), "no NVML");
  EXPECT_TRUE(sampler.take().empty());
}

}  // namespace
}  // namespace redraft::harness
