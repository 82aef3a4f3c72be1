#pragma once
// Two devices with a context, a stream, memory and a loaded kernel each, on any driver: simulated, or two GPUs. What a
// test says of them it says in terms of Driver alone.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "devices/cuda_loader.h"
#include "devices/nvrtc.h"
#include "tests/devices/sim_fixture.h"

namespace redraft::devices {

/// "" or why the tests of a backend cannot run here.
inline std::string whyNotTwoDevices(const std::string& backend) {
  if (backend == "sim") return "";
  if (const std::string reason = whyNoCuda(); !reason.empty()) return "needs two GPUs: " + reason;
  const int count = loadCudaDriver({})->deviceCount();
  if (count < 2) return "needs two GPUs: this machine has " + std::to_string(count);
  const std::string noCompiler = Nvrtc::whyNone();
  return noCompiler.empty() ? "" : "needs NVRTC: " + noCompiler;
}

/// The kernel of sim_fixture.h, *out += value, for an architecture.
inline Image addCubin(int architecture) {
  GpuSource source;
  source.name = "add.cu";
  source.text = "extern \"C\" __global__ void add(float* out, float value) { *out += value; }";
  return {"add/f32", Nvrtc::open().compile(source, architecture).bytes, {}};
}

/// Parameter: "sim" or "cuda".
class AffinityTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string reason = whyNotTwoDevices(GetParam());
    if (!reason.empty()) GTEST_SKIP() << reason;
    const bool sim = GetParam() == std::string("sim");
    Topology topology = fullTopology(2);
    driver = sim ? makeSimDriver({topology, 1u << 20, 4096, true}) : loadCudaDriver({topology, 4096});
    image = sim ? addImage() : addCubin(cudaArchitecture(*driver, 0));
    for (int device = 0; device < 2; ++device) {
      ok(driver->primaryContext(device, &rigs[device].context));
      equip(rigs[device]);
    }
  }

  /// Leaves the rig's context current.
  void equip(Rig& rig) {
    ok(driver->setCurrent(rig.context));
    ok(driver->createStream(&rig.stream));
    ok(driver->loadModule(image, &rig.module));
    ok(driver->moduleFunction(rig.module, "add", &rig.add));
    void* memory = nullptr;
    ok(driver->allocate(sizeof(float), &memory));
    rig.memory = static_cast<float*>(memory);
    const float zero = 0;
    ok(driver->copy(rig.memory, &zero, sizeof zero, rig.stream));
    ok(driver->synchronizeStream(rig.stream));
  }

  static void ok(Status status) { ASSERT_EQ(statusName(status), std::string("CUDA_SUCCESS")); }

  void use(int device) { ok(driver->setCurrent(rigs[device].context)); }

  Status launch(Function function, Stream stream, float* memory) {
    float value = 1;
    void* pointer = memory;
    LaunchArguments arguments{{&pointer, &value}, {{"out", memory, sizeof(float), true}}};
    return driver->launch(function, {}, stream, arguments);
  }

  /// The rig's memory, once all work of its context is done.
  float read(const Rig& rig) {
    Context former;
    float value = -1;
    ok(driver->current(&former));
    ok(driver->setCurrent(rig.context));
    ok(driver->synchronizeContext());
    ok(driver->copy(&value, rig.memory, sizeof value, rig.stream));
    ok(driver->synchronizeStream(rig.stream));
    ok(driver->setCurrent(former));
    return value;
  }

  LogRecord lastRecord(CallKind kind) const {
    LogRecord last;
    for (const LogRecord& record : driver->log().records())
      if (record.kind == kind) last = record;
    EXPECT_EQ(last.kind, kind) << callKindName(kind);
    return last;
  }

  std::unique_ptr<Driver> driver;
  Image image;
  Rig rigs[2];
};

inline std::string backendName(const ::testing::TestParamInfo<const char*>& info) { return info.param; }

}  // namespace redraft::devices
