// Faults that mix two devices up say so where a machine has put both on one GPU: the case is skipped, never passed.
#include <gtest/gtest.h>

#include "base/unsupported.h"
#include "devices/placement.h"
#include "scenarios/faults/fault.h"
#include "scenarios/faults/role_work.h"
#include "scenarios/spec/store.h"
#include "tests/paths.h"

namespace redraft::scenarios {
namespace {

Scenario shippedScenario(const std::string& name) {
  static const std::vector<StoredScenario> kAll = loadScenarios(std::string(kSourceFolder) + "/scenarios");
  return findScenario(kAll, name).scenario;
}

/// Why a scenario's fault cannot be expressed on so many GPUs; "" where it can.
std::string whyNot(const std::string& name, int gpus, bool processes = false) {
  const Scenario scenario = shippedScenario(name);
  const devices::Topology topology = scenario.topology.resolve();
  devices::Processes layout{{{}}, 0};
  for (const devices::RoleDevice& entry : topology.roles) layout.roles.front().push_back(entry.role);
  if (processes) layout = {{{"target[0]", "drafter[0]"}, {"target[1]", "drafter[1]"}}, 1};
  const auto placement = devices::Placement::onGpus(topology, gpus, layout);
  try {
    makeFault(scenario)->checkPlacement(placement, layout);
    return "";
  } catch (const Unsupported& missing) {
    return missing.what();
  }
}

const char* const kNeedTwo[] = {"dual-drafter/shared-kernel-cache",
                                "dual-drafter/half-fix",
                                "dual-drafter/compile-disabled",
                                "dual-drafter/recompute-on-other-device",
                                "dual-drafter/stray-context",
                                "dual-drafter/mask-on-other-device[topology.peer=on]",
                                "dual-drafter/mask-on-other-device[topology.peer=off]"};

TEST(DelayKernelTest, CompilesForTheGpusOfTheGpuScenarios) {
  const std::string why = devices::Nvrtc::whyNone();
  if (!why.empty()) GTEST_SKIP() << why;
  const devices::Cubin cubin = devices::Nvrtc::open().compile(delaySource(), 90);
  const std::string bytes(reinterpret_cast<const char*>(cubin.bytes.data()), cubin.bytes.size());
  EXPECT_NE(bytes.find(kDelayKernel), std::string::npos);
}

TEST(PlacementFaultTest, AFaultOfTwoDevicesNeedsTwoGpusAndSaysWhichRolesShareOne) {
  for (const char* name : kNeedTwo) {
    const std::string why = whyNot(name, 1);
    EXPECT_EQ(why.rfind("needs 2 GPUs: ", 0), 0u) << name << ": " << why;
    for (const char* part : {"drafter[0]", "drafter[1]", " share GPU 0"})
      EXPECT_NE(why.find(part), std::string::npos) << why;
  }
}

TEST(PlacementFaultTest, TwoGpusExpressAllOfThem) {
  for (const char* name : kNeedTwo) {
    EXPECT_EQ(whyNot(name, 2), "") << name;
    EXPECT_EQ(whyNot(name, 8), "") << name;
  }
}

TEST(PlacementFaultTest, AFaultOfWhatAProcessSharesNeedsItsRolesInOne) {
  for (const char* name : {"dual-drafter/shared-kernel-cache", "dual-drafter/half-fix", "dual-drafter/tracing-flag"})
    EXPECT_EQ(whyNot(name, 2, true),
              "needs " +
                  std::string(name == std::string("dual-drafter/tracing-flag") ? "drafter[1] and drafter[0]"
                                                                               : "drafter[0] and drafter[1]") +
                  " in one process")
        << name;
  for (const char* name : {"dual-drafter/mask-on-other-device[topology.peer=on]", "dual-drafter/stray-context"})
    EXPECT_EQ(whyNot(name, 2, true), "") << name;
}

TEST(PlacementFaultTest, OtherFaultsNeedNoSecondGpu) {
  for (const char* name : {"dual-drafter", "dual-drafter/tracing-flag", "dual-drafter/per-thread-tracing-flag",
                           "dual-drafter/crash", "dual-drafter/hang", "dual-drafter/drift", "single-drafter",
                           // Contexts of one device are what this one is about.
                           "kernel-cache/contexts/singleton"}) {
    EXPECT_EQ(whyNot(name, 1), "") << name;
  }
}

}  // namespace
}  // namespace redraft::scenarios
