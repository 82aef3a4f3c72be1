#include "scenarios/runner/numerics.h"

#include <gtest/gtest.h>

#include "golden/record.h"

namespace redraft::scenarios {
namespace {

GpuFacts h200(int count) {
  GpuFacts facts{"13.0", "13.0", "13.1.0", "9.19", {}};
  for (int i = 0; i < count; ++i) facts.gpus.push_back({"NVIDIA H200", 90, 132});
  return facts;
}

TEST(GpuClassTest, NumbersDependOnTheGpuAndItsLibrariesAndNeverOnTheHost) {
  const ClassFields fields = gpuNumericsClass(h200(1));
  EXPECT_EQ(fields.at("device"), "cuda");
  EXPECT_EQ(fields.at("isa"), "sm_90");
  EXPECT_EQ(fields.at("multiprocessors"), "132");
  for (const char* host : {"threads", "mkl", "onednn", "cpu", "cores"}) EXPECT_FALSE(fields.contains(host)) << host;
  for (const char* part : {"driver", "runtime", "cublas", "cudnn", "libtorch", "kernels"})
    EXPECT_FALSE(fields.at(part).empty()) << part;
  // The same bits on one GPU and on two of a kind.
  EXPECT_EQ(gpuNumericsClass(h200(2)), fields);
  const std::string name = golden::NumericsClass{fields}.name();
  EXPECT_EQ(name.rfind("cuda-sm_90-torch", 0), 0u) << name;
  EXPECT_EQ(name.find("unknown"), std::string::npos) << name;
}

TEST(GpuClassTest, AnotherGpuOrLibraryIsAnotherClass) {
  const ClassFields fields = gpuNumericsClass(h200(1));
  GpuFacts other = h200(1);
  other.cublas = "13.2.0";
  EXPECT_NE(gpuNumericsClass(other), fields);
  other = h200(1);
  other.gpus.push_back({"NVIDIA A100", 80, 108});
  EXPECT_EQ(gpuNumericsClass(other).at("isa"), "sm_80+sm_90");
}

TEST(GpuClassTest, TimesDependOnTheGpusAndTheirNumber) {
  const golden::PerformanceClass one{gpuPerformanceClass(h200(1))}, two{gpuPerformanceClass(h200(2))};
  EXPECT_EQ(one.name().rfind("nvidia_h200-1g-", 0), 0u) << one.name();
  EXPECT_NE(one.name(), two.name());
}

}  // namespace
}  // namespace redraft::scenarios
