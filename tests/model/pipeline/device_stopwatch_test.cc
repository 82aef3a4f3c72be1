#include "model/pipeline/device_stopwatch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/model/pipeline/tiny_training.h"

namespace redraft::model {
namespace {

TEST(DeviceStopwatchTest, AddsUpTheTimesBetweenItsEventsAndForgetsThem) {
  constexpr std::chrono::milliseconds kPause{5};
  DeviceStopwatch watch(tinyDevice(4));
  for (int i = 0; i < 2; ++i) {
    watch.begin();
    std::this_thread::sleep_for(kPause);
    watch.end();
  }
  EXPECT_GE(watch.takeSeconds(), 0.009);
  EXPECT_EQ(watch.takeSeconds(), 0);
}

TEST(DeviceStopwatchTest, KeepsNoTimeOnTheCpu) {
  DeviceStopwatch watch(at::kCPU);
  watch.begin();
  watch.end();
  EXPECT_EQ(watch.takeSeconds(), 0);
}

}  // namespace
}  // namespace redraft::model
