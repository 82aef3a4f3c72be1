// `redraft run --processes N` over the real runner.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "tests/paths.h"
#include "tests/scenarios/program.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

namespace fs = std::filesystem;

class ProcessesCliTest : public ::testing::Test {
 protected:
  ProcessesCliTest() {
    fs::create_directory(folder_.file("files"));
    fs::create_directory_symlink(fs::path(kSourceFolder) / "scenarios/data", folder_.file("data"));
    for (const char* name : {"tiny", "dual-drafter"})
      fs::copy_file(fs::path(kSourceFolder) / "scenarios/files" / (std::string(name) + ".json"), fileOf(name));
  }

  std::string fileOf(const std::string& name) const { return folder_.file("files/" + name + ".json"); }
  /// A scenario that extends dual-drafter.
  void write(const std::string& name, const std::string& more) const {
    writeFileAtomically(
        fileOf(name),
        "{\"schema\": \"redraft.scenario/1\", \"extends\": \"dual-drafter\", \"description\": \"-\", " + more + "}");
  }
  std::vector<std::string> runArguments(const std::string& name) const {
    return {"run", name, "--processes", "2", "--json", "--scenarios", folder_.path(), "--out", folder_.file("runs")};
  }
  Json run(const std::string& name, int code) const {
    const Outcome outcome = runRedraft(folder_.path(), runArguments(name));
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }

  /// Starts a run that does not end, sends rank 1 a signal in its second step, and returns the case.
  Json disturb(int signal, const std::string& limits) const {
    write("long", "\"golden\": false, \"training\": {\"steps\": 1000000}, \"limits\": " + limits);
    Program program(folder_.path(), runArguments("long"));
    const pid_t pid = pidOfRank1(folder_.file("runs/latest/long/rank-1/events.jsonl"));
    if (pid > 0) ::kill(pid, signal);
    EXPECT_TRUE(pid > 0 && program.endsWithin(std::chrono::seconds(60)));
    ::kill(program.pid(), SIGINT);  // for a program that does not end
    EXPECT_EQ(program.wait(), 1) << program.err();
    return Json::parse(program.out(), nullptr, false)["cases"][0];
  }

  const testing_support::TempFolder folder_;

 private:
  static pid_t pidOfRank1(const std::string& path) {
    for (int look = 0; look < 6000; ++look) {
      std::ifstream file(path);
      std::string begin, line;
      std::getline(file, begin);
      while (std::getline(file, line))
        if (line.find("\"type\":\"step\"") != std::string::npos) return Json::parse(begin)["pid"].get<pid_t>();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << path << " shows no step";
    return -1;
  }
};

TEST_F(ProcessesCliTest, TwoProcessesEqualTheGoldenOfOneBitForBitAndAreReplayedAsTwo) {
  const Json suite = run("dual-drafter", 0);
  ASSERT_TRUE(suite.is_object());
  const Json& each = suite["cases"][0];
  EXPECT_EQ(each["verdict"], "PASSED");
  EXPECT_NE(each["golden"].get<std::string>().find("equal bit for bit"), std::string::npos) << each["golden"];
  const std::string recorded = each["run_folder"];
  EXPECT_TRUE(fileExists(recorded + "/rank-1/events.jsonl"));
  const Outcome replay = runRedraft(folder_.path(), {"replay", "--json", recorded, "--out", folder_.file("replays")});
  EXPECT_EQ(replay.code, 0) << replay.out << replay.err;
  const Json result = Json::parse(replay.out, nullptr, false);
  EXPECT_EQ(result["same"], true);
  EXPECT_TRUE(fileExists(result["now"]["run_folder"].get<std::string>() + "/rank-1/events.jsonl"));
}

TEST_F(ProcessesCliTest, ACrashAndAHangAreSignedAsInOneProcess) {
  write("crash",
        "\"fault\": {\"name\": \"crash\", \"role\": \"drafter[1]\", \"step\": 2}, \"expect\": {\"verdict\": "
        "\"CRASHED\", \"finding\": \"crash/signal\"}");
  write("hang",
        "\"fault\": {\"name\": \"hang\", \"role\": \"drafter[0]\", \"step\": 2}, \"limits\": {\"hang_seconds\": 8}, "
        "\"expect\": {\"verdict\": \"HUNG\", \"finding\": \"hang/no-progress\"}");
  const Json crash = run("crash", 0)["cases"][0]["findings"][0], hang = run("hang", 0)["cases"][0]["findings"][0];
  EXPECT_EQ(crash["signature"], "crash/signal|signal 11 (SIGSEGV)|drafter[1]|2||11");
  EXPECT_TRUE(crash["title"].get<std::string>().starts_with("rank 1: ")) << crash["title"];
  EXPECT_EQ(hang["signature"], "hang/no-progress|hang|drafter[0]|2||0");
  EXPECT_TRUE(hang["title"].get<std::string>().starts_with("rank 0: ")) << hang["title"];
}

TEST_F(ProcessesCliTest, ARankThatIsKilledEndsTheRunAndIsNamed) {
  const Json each = disturb(SIGKILL, "{\"hang_seconds\": 30, \"seconds\": 300}");
  EXPECT_EQ(each["verdict"], "CRASHED");
  EXPECT_EQ(each["findings"][0]["id"], "crash/signal");
  EXPECT_TRUE(each["findings"][0]["title"].get<std::string>().starts_with("rank 1: ")) << each["findings"][0];
}

TEST_F(ProcessesCliTest, ARankThatIsSuspendedEndsTheRunAndIsNamed) {
  const Json each = disturb(SIGSTOP, "{\"hang_seconds\": 4, \"seconds\": 300}");
  EXPECT_EQ(each["verdict"], "HUNG");
  EXPECT_EQ(each["findings"][0]["id"], "hang/no-progress");
  const std::string title = each["findings"][0]["title"];
  EXPECT_TRUE(title.starts_with("rank 1: ")) << title;
  EXPECT_NE(title.find("suspended (SIGSTOP)"), std::string::npos) << title;
}

TEST_F(ProcessesCliTest, AScenarioThatCannotBeSharedOutIsBadUsage) {
  const Outcome outcome = runRedraft(folder_.path(), {"run", "dual-drafter", "--processes", "3", "--scenarios",
                                                      folder_.path(), "--out", folder_.file("runs")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("3 processes for 2 of the role \"drafter\""), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace redraft::scenarios
