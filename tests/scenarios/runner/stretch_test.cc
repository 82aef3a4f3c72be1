// The fault that only a bench sees: time, and nothing else.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>

#include "golden/record.h"
#include "tests/scenarios/runner/run_folder.h"

namespace redraft::scenarios {
namespace {

golden::Record stretchedRun(double percent) {
  const RunFolder folder(shipped("throughput/stretched[fault.percent=2]"), [&](Scenario& scenario) {
    scenario.fault->parameters["percent"] = percent;
    scenario.training.steps = 20;
    scenario.training.compareEvery = 1;
  });
  const int status = folder.run();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << folder.log();
  EXPECT_EQ(folder.events().first<harness::ExceptionSeen>(), nullptr);
  return golden::loadRun(folder.path());
}

double medianStep(const golden::Record& record) {
  std::vector<double> seconds = record.stepSeconds;
  std::nth_element(seconds.begin(), seconds.begin() + 10, seconds.end());
  return seconds[10];
}

TEST(StretchTest, TakesAStepsTimeByItsShareAndLeavesEveryBitAlone) {
  const golden::Record plain = stretchedRun(0), stretched = stretchedRun(300);
  const double ratio = medianStep(stretched) / medianStep(plain);
  EXPECT_GT(ratio, 2.5);  // 4 where nothing else runs on this machine
  ASSERT_EQ(plain.steps.size(), stretched.steps.size());
  for (std::size_t i = 0; i < plain.steps.size(); ++i) {
    EXPECT_EQ(plain.steps[i].parametersHash, stretched.steps[i].parametersHash) << i;
    EXPECT_EQ(plain.steps[i].values, stretched.steps[i].values) << i;
  }
}

}  // namespace
}  // namespace redraft::scenarios
