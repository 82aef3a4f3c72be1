// A scenario whose target waits for its device more often than its twin: `redraft attribute` and `redraft compare` name
// the waits and whose they are.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "tests/paths.h"
#include "tests/scenarios/program.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

class RunAttributionTest : public ::testing::Test {
 protected:
  /// The folder of a run of a shipped scenario on simulated devices.
  std::string run(const std::string& name) const {
    const Outcome outcome = runRedraft(folder_.path(), {"run", "--json", "--out", folder_.file("runs"), name,
                                                        "--scenarios", std::string(kSourceFolder) + "/scenarios"});
    const Json suite = Json::parse(outcome.out, nullptr, false);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return suite["cases"][0]["run_folder"].get<std::string>();
  }

  const testing_support::TempFolder folder_;
};

TEST_F(RunAttributionTest, NamesTheRoleThatWaitsMoreOftenThanItsTwin) {
  const std::string twin = run("dual-drafter"), faulty = run("dual-drafter/host-sync");
  const Json json = Json::parse(runRedraft(folder_.path(), {"attribute", twin, faulty, "--json"}).out);
  const Json& difference = json["difference"];
  EXPECT_EQ(difference["devices"].size(), 8u);
  int changed = 0;
  for (const Json& wait : difference["host_waits"]) {
    if (wait["count_a"] == wait["count_b"]) continue;
    ++changed;
    EXPECT_EQ(wait["role"], "target[0]") << wait;
    EXPECT_EQ(wait["call"], "cuCtxSynchronize") << wait;
    EXPECT_GT(wait["count_b"].get<double>(), wait["count_a"].get<double>()) << wait;
  }
  EXPECT_EQ(changed, 1) << difference["host_waits"];
  for (const Json& device : difference["devices"]) {
    double sum = 0;
    for (const Json& change : device["changes"]) sum += change["change_ns"].get<double>();
    EXPECT_NEAR(sum, device["change_ns"].get<double>(), 1) << device["device"];
  }
  const std::string text = runRedraft(folder_.path(), {"compare", twin, faulty}).out;
  EXPECT_NE(text.find("calls that wait for a device, more or fewer a step\n  target[0]  cuCtxSynchronize"),
            std::string::npos)
      << text;
}

/// The largest change that is clear, and no wait for others.
Json firstCause(const Json& difference) {
  Json first;
  for (const Json& device : difference["devices"])
    for (const Json& change : device["changes"])
      if (change["clear"] == true && change["part"] != "late_launch" && change["part"] != "event_wait" &&
          (first.is_null() || first["change_ns"].get<double>() < change["change_ns"].get<double>()))
        first = change;
  return first;
}

TEST_F(RunAttributionTest, NamesAKernelThatMakesStepsLonger) {
  const std::string slow = run("throughput/slow-kernel"), plain = run("throughput/drafter");
  const Json json = Json::parse(runRedraft(folder_.path(), {"attribute", plain, slow, "--json"}).out);
  const Json cause = firstCause(json["difference"]);
  ASSERT_FALSE(cause.is_null()) << json;
  EXPECT_EQ(cause["name"], "planted_delay");
  EXPECT_EQ(cause["part"], "compute");
  EXPECT_EQ(cause["role"], "drafter[0]");
  EXPECT_EQ(cause["phase"], "optimizer");
  EXPECT_EQ(cause["matched_by"], "only_b");
}

TEST_F(RunAttributionTest, NamesACopyThatMakesStepsLonger) {
  const std::string slow = run("throughput/extra-copy"), plain = run("throughput/drafter");
  const Json json = Json::parse(runRedraft(folder_.path(), {"attribute", plain, slow, "--json"}).out);
  const Json cause = firstCause(json["difference"]);
  ASSERT_FALSE(cause.is_null()) << json;
  EXPECT_EQ(cause["name"], "Memcpy DtoD (Device -> Device)");
  EXPECT_EQ(cause["part"], "copies");
  EXPECT_EQ(cause["role"], "drafter[0]");
}

}  // namespace
}  // namespace redraft::scenarios
