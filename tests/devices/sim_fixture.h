#pragma once
// A simulated machine of two devices with a context, a stream, memory and a loaded kernel each.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "devices/context_guard.h"
#include "devices/sim/sim_driver.h"

namespace redraft::devices {

/// *out += *value.
inline void addKernel(void** params) {
  auto* out = *static_cast<float**>(params[0]);
  *out += *static_cast<float*>(params[1]);
}

inline Image addImage() { return {"add/f32", {}, {{"add", &addKernel}}}; }

inline Topology fullTopology(int devices, bool peerAccess = true) {
  Topology topology;
  topology.deviceCount = devices;
  topology.peerAccess = peerAccess;
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from != to) topology.copyEdges.emplace_back(from, to);
    }
  }
  return topology;
}

/// Everything of one device.
struct Rig {
  Context context;
  Stream stream;
  Module module;
  Function add;
  float* memory = nullptr;
};

class SimTest : public ::testing::Test {
 protected:
  explicit SimTest(Topology topology = fullTopology(2)) {
    driver = makeSimDriver({std::move(topology), 1u << 20, 4096, true});
    for (int device = 0; device < 2; ++device) rigs[device] = makeRig(device);
  }

  Rig makeRig(int device) {
    Rig rig;
    ok(driver->primaryContext(device, &rig.context));
    equip(rig);
    return rig;
  }

  /// Leaves the rig's context current.
  void equip(Rig& rig) {
    ok(driver->setCurrent(rig.context));
    ok(driver->createStream(&rig.stream));
    ok(driver->loadModule(addImage(), &rig.module));
    ok(driver->moduleFunction(rig.module, "add", &rig.add));
    void* memory = nullptr;
    ok(driver->allocate(sizeof(float), &memory));
    rig.memory = static_cast<float*>(memory);
    *rig.memory = 0;
  }

  static void ok(Status status) { ASSERT_EQ(statusName(status), std::string("CUDA_SUCCESS")); }

  void use(int device) { ok(driver->setCurrent(rigs[device].context)); }

  Status launch(Function function, Stream stream, float* memory, const char* name = "out") {
    float value = 1;
    void* pointer = memory;
    LaunchArguments arguments{{&pointer, &value}, {{name, memory, sizeof(float), true}}};
    return driver->launch(function, {}, stream, arguments);
  }

  std::vector<LogRecord> records(CallKind kind) const {
    std::vector<LogRecord> found;
    for (LogRecord& record : driver->log().records()) {
      if (record.kind == kind) found.push_back(std::move(record));
    }
    return found;
  }

  LogRecord lastRecord(CallKind kind) const {
    auto found = records(kind);
    EXPECT_FALSE(found.empty()) << callKindName(kind);
    return found.empty() ? LogRecord{} : found.back();
  }

  std::unique_ptr<SimDriver> driver;
  Rig rigs[2];
};

}  // namespace redraft::devices
