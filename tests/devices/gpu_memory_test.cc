#include "devices/gpu_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/paths.h"

namespace redraft::devices {
namespace {

const std::string kFakeNvmlPath = std::string(kBinaryFolder) + "/tests/fake_nvml/libfake_nvml.so";
const char* const kFakeNvml = kFakeNvmlPath.c_str();

TEST(GpuMemoryTest, AddsUpWhatAProcessHoldsOnEachGpu) {
  const auto uses = gpuMemoryOf(4711, kFakeNvml);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].uuid, "GPU-first");
  EXPECT_EQ(uses[0].bytes, 3 << 20);
}

TEST(GpuMemoryTest, AsksAgainWhereThereAreMoreProcessesThanItHadRoomFor) {
  const auto uses = gpuMemoryOf(4713, kFakeNvml);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].uuid, "GPU-second");
  EXPECT_EQ(uses[0].bytes, 5);
}

TEST(GpuMemoryTest, SaysNothingOfWhatNvmlDoesNotKnow) {
  EXPECT_TRUE(gpuMemoryOf(4712, kFakeNvml).empty());
  EXPECT_TRUE(gpuMemoryOf(9999, kFakeNvml).empty());
  EXPECT_TRUE(gpuMemoryOf(4711, "libno-such-nvml.so.1").empty());
}

}  // namespace
}  // namespace redraft::devices
