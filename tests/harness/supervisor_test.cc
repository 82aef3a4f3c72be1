#include "harness/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "harness/output_log.h"
#include "tests/harness/fake_case.h"

namespace redraft::harness {
namespace {

/// Polls until `done` holds; false when it does not within ten seconds.
template <class Done>
bool eventually(Done done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < until)
    if (done()) return true;
  return false;
}

bool isGone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

std::string logOf(const TemporaryFolder& folder) { return readFile(folder.path() + "/run/runner.log"); }

TEST(SupervisorTest, ReadsTheWholeRecordOfARunThatEndsWell) {
  const TemporaryFolder folder;
  const Observation seen = superviseFake(folder, fakePlan({"begin", "train", "say hello", "end completed"}));
  EXPECT_TRUE(seen.end.clean());
  EXPECT_EQ(seen.stop, Stop::kNone);
  EXPECT_EQ(seen.log.problem, "");
  EXPECT_NE(seen.log.events.back().as<RunEnd>(), nullptr);
  EXPECT_EQ(logOf(folder), "hello\n");
}

TEST(SupervisorTest, SaysWhichSignalEndedTheChild) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL, SIGTERM}) {
    const TemporaryFolder folder;
    const Observation seen = superviseFake(folder, fakePlan({"begin", "signal " + std::to_string(signal)}));
    EXPECT_TRUE(seen.end.signalled);
    EXPECT_EQ(seen.end.code, signal);
  }
  EXPECT_EQ((ChildEnd{true, SIGSEGV}).text(), "signal 11 (SIGSEGV)");
}

TEST(SupervisorTest, SaysWithWhichCodeTheChildExited) {
  const TemporaryFolder folder;
  EXPECT_EQ(superviseFake(folder, fakePlan({"begin", "exit 5"})).end.text(), "exited 5");
}

TEST(SupervisorTest, EndsAChildThatStandsStillAndLooksAtItsThreads) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"begin", "train", "hang"});
  plan.hangSeconds = 0.3;
  const Observation seen = superviseFake(folder, plan);
  EXPECT_EQ(seen.stop, Stop::kNoProgress);
  EXPECT_EQ(seen.end.text(), "signal 6 (SIGABRT)");
  ASSERT_FALSE(seen.threads.empty());
  EXPECT_NE(seen.threads[0].find("fake_runner"), std::string::npos);
}

TEST(SupervisorTest, EventsThatAreNoProgressMarksDoNotCountAsProgress) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"begin", "babble"});
  plan.hangSeconds = 0.3;
  EXPECT_EQ(superviseFake(folder, plan).stop, Stop::kNoProgress);
}

TEST(SupervisorTest, EndsARunWhoseRecordIsBroken) {
  const TemporaryFolder folder;
  const Observation seen = superviseFake(folder, fakePlan({"begin", "gap", "hang"}));
  EXPECT_EQ(seen.stop, Stop::kBrokenRecord);
  EXPECT_NE(seen.log.problem.find("event 99"), std::string::npos) << seen.log.problem;
}

TEST(SupervisorTest, KillsAChildThatIgnoresEverySofterSignal) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"ignore 6", "ignore 15", "begin", "hang"});
  plan.hangSeconds = 0.2;
  const Observation seen = superviseFake(folder, plan);
  EXPECT_EQ(seen.stop, Stop::kNoProgress);
  EXPECT_EQ(seen.end.code, SIGKILL);
}

TEST(SupervisorTest, EndsARunThatMakesProgressBeyondItsTime) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"begin", "march"});
  plan.hangSeconds = 60;
  plan.seconds = 0.4;
  EXPECT_EQ(superviseFake(folder, plan).stop, Stop::kTimeLimit);
}

TEST(SupervisorTest, KeepsHeadAndTailOfAChildThatWritesWithoutBound) {
  const TemporaryFolder folder;
  const Observation seen = superviseFake(folder, fakePlan({"begin", "spam 20", "end completed"}));
  EXPECT_TRUE(seen.end.clean());
  const std::string log = logOf(folder);
  EXPECT_LT(log.size(), OutputLog::kHeadBytes + OutputLog::kTailBytes + 200);
  EXPECT_NE(log.find("bytes left out"), std::string::npos);
  EXPECT_TRUE(log.ends_with("the last words\n"));
}

TEST(SupervisorTest, EndsWhatTheChildLeftBehind) {
  const TemporaryFolder folder;
  const Observation seen = superviseFake(folder, fakePlan({"begin", "grandchild", "end completed"}));
  EXPECT_TRUE(seen.end.clean());
  const std::string log = logOf(folder);
  ASSERT_EQ(log.find("grandchild "), 0u) << log;
  const pid_t grandchild = std::stoi(log.substr(11));
  EXPECT_TRUE(eventually([&] { return isGone(grandchild); }));
}

TEST(SupervisorTest, AChildThatClosesItsOutputIsStillWatched) {
  const TemporaryFolder folder;
  CasePlan plan = fakePlan({"close", "begin", "hang"});
  plan.hangSeconds = 0.2;
  EXPECT_EQ(superviseFake(folder, plan).stop, Stop::kNoProgress);
}

TEST(SupervisorTest, ARunnerThatCannotBeStartedIsTheEnvironments) {
  const TemporaryFolder folder;
  const CasePlan plan = fakePlan({});
  prepareRunFolder(folder.path() + "/run", plan, {});
  for (const char* runner : {"/nonexistent/runner", "/dev/null"}) {
    SupervisorOptions options = fakeSupervisor();
    options.runner = runner;
    try {
      supervise(folder.path() + "/run", plan, options);
      FAIL() << runner;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
      EXPECT_NE(std::string(error.what()).find(runner), std::string::npos) << error.what();
    }
  }
}

TEST(SupervisorTest, TheChildRunsUnderThePinnedEnvironment) {
  const TemporaryFolder folder;
  ChildProcess child({{"/usr/bin/env"}, {{"MKL_CBWR", "COMPATIBLE"}}, false});
  std::string output;
  while (!child.ended()) child.wait(std::chrono::milliseconds(20), -1, output);
  child.drain(output);
  EXPECT_NE(output.find("MKL_CBWR=COMPATIBLE\n"), std::string::npos);
}

TEST(SupervisorTest, TheChildDiesWithItsParent) {
  const TemporaryFolder folder;
  const CasePlan plan = fakePlan({"begin", "hang"});
  const pid_t parent = ::fork();
  if (parent == 0) {
    superviseFake(folder, plan);
    ::_exit(0);
  }
  const std::string events = folder.path() + "/run/events.jsonl";
  ASSERT_TRUE(eventually([&] { return fileExists(events) && readEvents(events).first<RunBegin>() != nullptr; }));
  const auto child = static_cast<pid_t>(readEvents(events).first<RunBegin>()->as<RunBegin>()->pid);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return isGone(child); }));
}

}  // namespace
}  // namespace redraft::harness
