// Runs of several processes: which of them is named, and what the others add.
#include "harness/ranks.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/harness/fake_case.h"

namespace redraft::harness {
namespace {

CasePlan rankPlan(const std::vector<std::string>& first, const std::vector<std::string>& others, int processes = 2) {
  CasePlan plan = fakePlan(first);
  plan.scenarioText = Json{{"name", "fake"}, {"fault", {{"script", first}, {"others", others}}}}.dump();
  plan.processes = processes;
  return plan;
}

const std::vector<std::string> kWell = {"begin", "train", "files", "end completed"};
const std::vector<std::string> kOther = {"begin", "train", "memory", "trace", "end completed"};

TEST(RanksTest, ARunOfSeveralProcessesThatAllEndWellPasses) {
  const TemporaryFolder folder;
  const reports::CaseResult result = runFake(folder, rankPlan(kWell, kOther, 3));
  EXPECT_EQ(result.verdict, reports::Verdict::kPassed) << result.reason;
  EXPECT_EQ(result.ended, "rank 0: exited 0");
  EXPECT_TRUE(fileExists(folder.path() + "/run/rank-2/events.jsonl"));
  EXPECT_TRUE(fileExists(folder.path() + "/run/rank-1/runner.log"));
}

TEST(RanksTest, ARankThatDiesIsNamedAndTheOthersEnd) {
  for (const bool firstDies : {false, true}) {
    const std::vector<std::string> dies = {"begin", "train", "signal 9"}, waits = {"begin", "train", "hang"};
    const TemporaryFolder folder;
    const reports::CaseResult result = runFake(folder, firstDies ? rankPlan(dies, waits) : rankPlan(waits, dies));
    EXPECT_EQ(result.verdict, reports::Verdict::kCrashed);
    ASSERT_EQ(result.findings.size(), 1u);
    EXPECT_EQ(result.findings[0].id, "crash/signal");
    EXPECT_TRUE(result.findings[0].title.starts_with(firstDies ? "rank 0: " : "rank 1: ")) << result.findings[0].title;
    EXPECT_NE(result.findings[0].details.back().find("ended because another rank was gone"), std::string::npos);
    EXPECT_EQ(result.findings[0].signature, "crash/signal|signal 9 (SIGKILL)||-1||9");
  }
}

TEST(RanksTest, TheErrorOfARankIsTheCauseAndNotWhatTheOthersSayOfIt) {
  const TemporaryFolder folder;
  const reports::CaseResult result = runFake(
      folder, rankPlan({"begin", "lost 1", "end failed"}, {"begin", "pause 60", "exception no memory", "end failed"}));
  EXPECT_EQ(result.verdict, reports::Verdict::kFailed);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].id, "exception/unattributed");
  EXPECT_EQ(result.findings[0].title, "rank 1: std::runtime_error: no memory");
  EXPECT_EQ(result.findings.size(), 1u);
}

TEST(RanksTest, ARankThatOnlyOthersSpeakOfIsALostRank) {
  const TemporaryFolder folder;
  const reports::CaseResult result =
      runFake(folder, rankPlan({"begin", "lost 1", "end failed"}, {"begin", "train", "hang"}));
  EXPECT_EQ(result.verdict, reports::Verdict::kFailed);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].id, "ranks/lost");
  EXPECT_EQ(result.findings[0].title, "rank 0: rank 1 was lost");
}

TEST(RanksTest, AStandstillIsPutDownToTheRankThatWaitsForNobody) {
  CasePlan plan = rankPlan({"begin", "mark collective_enter", "hang"}, {"begin", "mark optimizer_step", "hang"});
  plan.hangSeconds = 0.4;
  const TemporaryFolder folder;
  const reports::CaseResult result = runFake(folder, plan);
  EXPECT_EQ(result.verdict, reports::Verdict::kHung);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].title,
            "rank 1: no progress mark for the scenario's limit; drafter[0] waits for nobody, and stands still");
  EXPECT_NE(result.findings[0].details.back().find("rank 0: at drafter[0]: collective_enter"), std::string::npos);
}

TEST(RanksTest, ASuspendedProcessIsTheCauseOfAStandstill) {
  CasePlan plan = rankPlan({"begin", "mark optimizer_step", "hang"}, {"begin", "mark collective_enter", "stop"});
  plan.hangSeconds = 0.4;
  const TemporaryFolder folder;
  const reports::CaseResult result = runFake(folder, plan);
  EXPECT_EQ(result.verdict, reports::Verdict::kHung);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_TRUE(result.findings[0].title.starts_with("rank 1: ")) << result.findings[0].title;
  EXPECT_NE(result.findings[0].title.find("suspended (SIGSTOP)"), std::string::npos) << result.findings[0].title;
}

TEST(RanksTest, ChildrenAreToldTheirRanksWhateverLauncherStartedTheSupervisor) {
  ::setenv("RANK", "7", 1);
  ::setenv("WORLD_SIZE", "9", 1);
  const TemporaryFolder folder;
  EXPECT_EQ(runFake(folder, fakePlan(kWell)).verdict, reports::Verdict::kPassed);
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
}

TEST(RanksTest, TheNumberOfProcessesIsInTheRecord) {
  const TemporaryFolder folder;
  runFake(folder, rankPlan(kWell, kOther));
  EXPECT_NE(readFile(folder.path() + "/run/environment.json").find("\"processes\": 2"), std::string::npos);
}

}  // namespace
}  // namespace redraft::harness
