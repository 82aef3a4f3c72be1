// A run that is given turns does no step that it was not allowed, and the numbers of one that is left alone.
#include "harness/turns.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "golden/record.h"
#include "tests/scenarios/runner/run_folder.h"

namespace redraft::scenarios {
namespace {

constexpr int kSteps = 9;
constexpr std::chrono::seconds kLong{60};

RunFolder shortRun(const std::string& scenario) {
  return RunFolder(shipped(scenario), [](Scenario& each) {
    each.training.steps = kSteps;
    each.evaluate.reset();
  });
}

std::int64_t latestStep(const RunFolder& folder) {
  std::int64_t latest = -1;
  for (const harness::Event& event : folder.events().events) {
    const auto* mark = event.as<harness::SyncMark>();
    if (mark != nullptr && mark->point == "queue_push") latest = std::max(latest, event.head.step);
  }
  return latest;
}

TEST(TurnsTest, NoStepBeginsThatIsNotAllowedAndNoNumberChanges) {
  const RunFolder alone = shortRun("dual-drafter"), gated = shortRun("dual-drafter");
  ASSERT_EQ(alone.run(), 0) << alone.log();
  harness::TurnGiver giver;
  const pid_t child =
      gated.start({"--turns", std::to_string(giver.runnerFd())}, [&] { ::fcntl(giver.runnerFd(), F_SETFD, 0); });
  for (const std::int64_t steps : {2, 5}) {
    giver.allow(steps);
    ASSERT_TRUE(giver.reached(kLong)) << gated.log();
    ::usleep(200000);  // in which targets would go on, whose queue is empty
    EXPECT_EQ(latestStep(gated), steps - 1);
  }
  giver.allow(kSteps);
  ASSERT_EQ(waitFor(child), 0) << gated.log();
  const golden::Record a = golden::loadRun(alone.path()), b = golden::loadRun(gated.path());
  ASSERT_EQ(b.steps.size(), static_cast<std::size_t>(kSteps));
  for (std::size_t i = 0; i < b.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].values, b.steps[i].values) << i;
    EXPECT_EQ(a.steps[i].parametersHash, b.steps[i].parametersHash) << i;
  }
}

TEST(TurnsTest, ARunWhoseHarnessIsGoneGoesOnToItsEnd) {
  const RunFolder folder = shortRun("single-drafter");
  std::optional<harness::TurnGiver> giver(std::in_place);
  const int fd = giver->runnerFd();
  const pid_t child = folder.start({"--turns", std::to_string(fd)}, [&] { ::fcntl(fd, F_SETFD, 0); });
  giver->allow(1);
  ASSERT_TRUE(giver->reached(kLong)) << folder.log();
  giver.reset();
  EXPECT_EQ(waitFor(child), 0) << folder.log();
}

TEST(TurnsTest, ADescriptorOfSomethingElseIsRefused) {
  const RunFolder folder = shortRun("single-drafter");
  const int status = folder.run({"--turns", "0"});
  EXPECT_EQ(WEXITSTATUS(status), 2) << folder.log();
  EXPECT_NE(folder.log().find("--turns: 0 is no socket of the harness"), std::string::npos) << folder.log();
}

}  // namespace
}  // namespace redraft::scenarios
