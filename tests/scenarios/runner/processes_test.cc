// A run that several processes share out, started as a launcher would: each a runner on the same folder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/launch_environment.h"
#include "base/listening_socket.h"
#include "golden/record.h"
#include "golden/run_files.h"
#include "tests/scenarios/runner/run_folder.h"

namespace redraft::scenarios {
namespace {

using Clock = std::chrono::steady_clock;

/// W runners on one folder. Destroyed, none is left.
class Processes {
 public:
  Processes(const RunFolder& folder, int count, const std::vector<std::string>& more = {}) : folder_(folder) {
    for (int rank = 0; rank < count; ++rank) {
      pids_.push_back(folder.start(more, [&] {
        for (const auto& [name, value] : launchVariables(rank, count, socket_.port()))
          ::setenv(name.c_str(), value.c_str(), 1);
        if (rank != 0) return;
        ::setenv(kStoreSocketVariable, std::to_string(socket_.fd()).c_str(), 1);
        ::fcntl(socket_.fd(), F_SETFD, 0);
      }));
    }
    ::close(socket_.release());
  }
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid <= 0) continue;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Its exit code, or -signal.
  int wait(int rank) {
    const int status = waitFor(std::exchange(pids_[static_cast<std::size_t>(rank)], -1));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void send(int rank, int signal) const { ::kill(pids_[static_cast<std::size_t>(rank)], signal); }
  /// Returns when this rank has finished a step.
  void untilItSteps(int rank) const {
    const Clock::time_point until = Clock::now() + std::chrono::seconds(60);
    const std::string path = golden::rankFolder(folder_.path(), rank) + "/events.jsonl";
    harness::EventReader events(path);
    while (Clock::now() < until) {
      events.poll();
      if (events.log().first<harness::StepDone>() != nullptr) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "rank " << rank << " finished no step\n" << folder_.log();
  }

 private:
  const RunFolder& folder_;
  ListeningSocket socket_;
  std::vector<pid_t> pids_;
};

harness::EventLog eventsOf(const RunFolder& folder, int rank) {
  return harness::readEvents(golden::rankFolder(folder.path(), rank) + "/events.jsonl");
}

void expectCompleted(const RunFolder& folder, int count, const std::vector<std::string>& more = {}) {
  Processes processes(folder, count, more);
  for (int rank = 0; rank < count; ++rank) EXPECT_EQ(processes.wait(rank), 0) << rank << folder.log();
}

/// What has to be equal bit for bit.
std::vector<std::string> bitsOf(const RunFolder& folder) {
  std::vector<std::string> lines = {readFile(folder / "digests.bin")};
  for (const golden::StepMetrics& step : golden::loadRun(folder.path()).steps) {
    std::string line = std::to_string(step.step) + " " + step.parametersHash;
    for (const auto& [name, value] : step.values) line += " " + name + " " + toHexFloat(value);
    lines.push_back(line);
  }
  return lines;
}

void shorten(Scenario& scenario) { scenario.training.steps = 3; }
void neverEnding(Scenario& scenario) {
  scenario.training.steps = 1000000;
  scenario.limits.hangSeconds = 3;  // ranks wait half as long again
}

TEST(ProcessesTest, ProcessesOfOneDrafterGiveTheBitsOfOneProcessOfAsMany) {
  for (const auto& [name, count] : {std::pair("dual-drafter", 2), std::pair("equivalence/four-by-one", 4)}) {
    const RunFolder alone(shipped(name), shorten), shared(shipped(name), shorten);
    ASSERT_EQ(alone.run(), 0) << alone.log();
    expectCompleted(shared, count);
    EXPECT_EQ(bitsOf(shared), bitsOf(alone)) << name;
    EXPECT_EQ(bitsOf(shared).size(), 4u);
  }
}

TEST(ProcessesTest, RankZeroKeepsTheRecordAndEveryRankItsOwnEvents) {
  const RunFolder folder(shipped("dual-drafter"), shorten);
  expectCompleted(folder, 2);
  for (int rank = 0; rank < 2; ++rank) {
    const harness::EventLog log = eventsOf(folder, rank);
    EXPECT_EQ(log.problem, "");
    ASSERT_FALSE(log.events.empty());
    const auto* begin = log.events.front().as<harness::RunBegin>();
    ASSERT_NE(begin, nullptr);
    EXPECT_EQ(begin->rank, rank);
    EXPECT_EQ(begin->processes, 2);
    const auto* end = log.events.back().as<harness::RunEnd>();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->outcome, "completed");
    EXPECT_EQ(end->steps, 3);
    const std::string drafter = "drafter[" + std::to_string(rank) + "]";
    for (const harness::Event& event : log.events) {
      const std::string& role = event.head.role;
      EXPECT_TRUE(!role.starts_with("drafter") || role == drafter) << role;
    }
    EXPECT_TRUE(fileExists(golden::rankFolder(folder.path(), rank) + "/memory.json"));
  }
  EXPECT_FALSE(fileExists(folder / "rank-1/metrics.jsonl"));
  const harness::EventLog first = eventsOf(folder, 0);
  const harness::Event* replicas = first.first<harness::ReplicaCheck>();
  ASSERT_NE(replicas, nullptr);
  EXPECT_EQ(replicas->as<harness::ReplicaCheck>()->hashes.size(), 2u);
  EXPECT_TRUE(replicas->as<harness::ReplicaCheck>()->equal);
}

TEST(ProcessesTest, AResumedRunOfTwoProcessesGivesTheBitsOfAnUninterruptedOne) {
  const auto saving = [](Scenario& scenario) {
    scenario.training.steps = 4;
    scenario.training.checkpointEvery = 2;
  };
  const RunFolder whole(shipped("dual-drafter"), saving), resumed(shipped("dual-drafter"), saving);
  ASSERT_EQ(whole.run(), 0) << whole.log();
  expectCompleted(resumed, 2);
  std::filesystem::remove_all(resumed / "checkpoint/step-4");
  expectCompleted(resumed, 2, {"--resume"});
  EXPECT_EQ(bitsOf(resumed), bitsOf(whole));
  EXPECT_TRUE(fileExists(resumed / "rank-1/events.1.jsonl"));
}

/// The exception of a surviving rank says whom it lost, within the time that waits may take.
void expectLost(const RunFolder& folder, Processes& processes, int survivor, int lost) {
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(processes.wait(survivor), 1);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  const harness::EventLog log = eventsOf(folder, survivor);
  EXPECT_EQ(log.problem, "");
  const harness::Event* event = log.first<harness::ExceptionSeen>();
  ASSERT_NE(event, nullptr) << folder.log();
  const auto& seen = *event->as<harness::ExceptionSeen>();
  EXPECT_EQ(seen.rank, lost) << seen.what;
  EXPECT_NE(seen.what.find("rank " + std::to_string(lost)), std::string::npos) << seen.what;
  EXPECT_EQ(event->head.role, "drafter[" + std::to_string(survivor) + "]");
  const auto* end = log.events.back().as<harness::RunEnd>();
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->outcome, "failed");
}

TEST(ProcessesTest, ARankThatIsKilledEndsTheOtherWhichNamesIt) {
  for (const int lost : {1, 0}) {
    const RunFolder folder(shipped("dual-drafter"), neverEnding);
    Processes processes(folder, 2);
    processes.untilItSteps(lost);
    processes.send(lost, SIGKILL);
    expectLost(folder, processes, 1 - lost, lost);
  }
}

TEST(ProcessesTest, ARankThatStandsStillEndsTheOtherWhichNamesIt) {
  for (const int lost : {1, 0}) {
    const RunFolder folder(shipped("dual-drafter"), neverEnding);
    Processes processes(folder, 2);
    processes.untilItSteps(lost);
    processes.send(lost, SIGSTOP);
    expectLost(folder, processes, 1 - lost, lost);
  }
}

TEST(ProcessesTest, AFaultInOneRankIsItsOwnErrorAndTheOthersLoss) {
  const RunFolder folder(shipped("dual-drafter/recompute-on-other-device"));
  Processes processes(folder, 2);
  const int codes[] = {processes.wait(0), processes.wait(1)};
  EXPECT_EQ(codes[0], 1) << folder.log();
  EXPECT_EQ(codes[1], 1) << folder.log();
  int own = 0, lost = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const harness::EventLog log = eventsOf(folder, rank);
    const harness::Event* event = log.first<harness::ExceptionSeen>();
    ASSERT_NE(event, nullptr) << folder.log();
    const auto& seen = *event->as<harness::ExceptionSeen>();
    ++(seen.rank ? lost : own);
    EXPECT_EQ(seen.rank.value_or(1 - rank), 1 - rank) << seen.what;
  }
  EXPECT_EQ(own, 1);
  EXPECT_EQ(lost, 1);
}

TEST(ProcessesTest, MoreProcessesThanWorkersAreRefused) {
  const RunFolder folder(shipped("single-drafter"), shorten);
  Processes processes(folder, 2);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(processes.wait(rank), 2);
  EXPECT_FALSE(fileExists(folder / "events.jsonl"));
  EXPECT_NE(folder.log().find("topology.roles.drafter: 1 cannot be shared by 2 processes"), std::string::npos)
      << folder.log();
}

TEST(ProcessesTest, AHalfSetLauncherIsBadInput) {
  const RunFolder folder(shipped("dual-drafter"), shorten);
  const int status = waitFor(folder.start({}, [] { ::setenv("WORLD_SIZE", "2", 1); }));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(folder.log().find("RANK, LOCAL_RANK not"), std::string::npos) << folder.log();
}

}  // namespace
}  // namespace redraft::scenarios
