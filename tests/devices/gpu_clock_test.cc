#include "devices/gpu_clock.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/paths.h"

namespace redraft::devices {
namespace {

TEST(GpuClockTest, SaysClockIdlenessAndWhatSlowsAGpuDown) {
  const std::string library = std::string(kBinaryFolder) + "/tests/fake_nvml/libfake_nvml.so";
  const GpuClocks clocks(library.c_str());
  ASSERT_EQ(clocks.problem(), "");
  const std::vector<GpuClock> now = clocks.now();
  ASSERT_EQ(now.size(), 2u);
  EXPECT_EQ(now[0].uuid, "GPU-first");
  EXPECT_EQ(now[0].mhz, 1755);
  EXPECT_FALSE(now[0].idle);
  EXPECT_EQ(now[0].slowdown, "thermal slowdown") << "a power cap is none";
  EXPECT_EQ(now[1].mhz, 345);
  EXPECT_TRUE(now[1].idle);
  EXPECT_EQ(now[1].slowdown, "");
}

TEST(GpuClockTest, WithoutNvmlNoClockIsKnownAndItSaysSo) {
  const GpuClocks clocks("libno-such-nvml.so.1");
  EXPECT_EQ(clocks.problem(), "no NVML");
  EXPECT_TRUE(clocks.now().empty());
}

}  // namespace
}  // namespace redraft::devices
