// Killing the harness or a runner at any moment never yields a passed case that did not pass, nor a missing one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <regex>

#include "harness/events.h"
#include "harness/run_folder.h"
#include "harness/suite_record.h"
#include "reports/printers.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

using reports::Verdict;

constexpr int kKills = 100;
constexpr int kMaxRounds = 400;
constexpr const char* kScenarios[] = {"a", "b", "c", "d"};

/// What each does. All wait somewhere, elsewhere each: a runner that wrote on without a stop would be gone before a
/// kill reached it.
constexpr const char* kScripts[] = {
    R"(["begin", "pause 40", "train", "files", "end completed"])",
    R"(["begin", "train", "pause 40", "files", "end completed"])",
    R"(["begin", "train", "metrics", "pause 40", "digests", "memory", "trace", "end completed"])",
    R"(["begin", "train", "files", "pause 40", "end completed"])",
};

class KillTest : public ::testing::Test {
 protected:
  KillTest() {
    makeDirectories(folder_.root() + "/data");
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
    for (std::size_t i = 0; i < std::size(kScenarios); ++i)
      folder_.write(kScenarios[i], ScenarioFolder::whole(R"("training": {"steps": 150}, "golden": false,
 "fault": {"name": "script", "script": )" + std::string(kScripts[i]) +
                                                         "}"));
  }

  std::string suiteFolder() const { return folder_.root() + "/runs/latest"; }
  std::string junit() const { return folder_.root() + "/junit.xml"; }

  Program start() const {
    // Both: a program killed before its first write leaves what an earlier one wrote.
    std::filesystem::remove_all(folder_.root() + "/runs");
    std::filesystem::remove(junit());
    std::vector<std::string> words = {
        "run",     "--scenarios", folder_.root(), "--runner", kFakeRunner, "--out", folder_.root() + "/runs",
        "--junit", junit(),       "--jobs",       "2"};
    words.insert(words.end(), std::begin(kScenarios), std::end(kScenarios));  // not their twins
    return Program(folder_.root(), words);
  }

  /// A runner that is alive now; -1 when there is none.
  pid_t someRunner() const {
    for (const char* name : kScenarios) {
      const std::string run = suiteFolder() + "/" + name;
      if (!fileExists(run + "/events.jsonl") || fileExists(run + "/result.json")) continue;
      const harness::EventLog log = harness::readEvents(run + "/events.jsonl");
      if (const harness::Event* begin = log.first<harness::RunBegin>())
        return static_cast<pid_t>(begin->as<harness::RunBegin>()->pid);
    }
    return -1;
  }

  /// Every case that is called passed has a whole record of having passed.
  void checkCase(const reports::CaseResult& result) const {
    if (result.verdict != Verdict::kPassed) return;
    const harness::EventLog log = harness::readEvents(suiteFolder() + "/" + result.name + "/events.jsonl");
    ASSERT_EQ(log.problem, "") << result.name;
    ASSERT_FALSE(log.events.empty());
    EXPECT_NE(log.events.back().as<harness::RunEnd>(), nullptr) << result.name;
    EXPECT_EQ(result.ended, "exited 0") << result.name;
    EXPECT_EQ(harness::loadCaseResult(suiteFolder() + "/" + result.name).verdict, Verdict::kPassed);
  }

  /// Names of JUnit cases → whether they are successes.
  static std::map<std::string, bool> junitCases(const std::string& text) {
    std::map<std::string, bool> cases;
    const std::regex element("<testcase name=\"([^\"]*)\"[^>]*>\\s*<(\\S+)");
    for (std::sregex_iterator it(text.begin(), text.end(), element), end; it != end; ++it)
      cases[(*it)[1]] = std::string((*it)[2]) == "system-out>";
    return cases;
  }

  /// Names of the cases in the HTML report → whether they are shown as passed. Whole, or not there.
  std::map<std::string, bool> pageCases() const {
    std::map<std::string, bool> cases;
    const std::string path = suiteFolder() + "/report.html", open = "id=\"data\">";
    if (!fileExists(path)) return cases;
    const std::string page = readFile(path);
    const std::size_t begin = page.find(open) + open.size();
    const Json data = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    for (const Json& each : data["suite"]["cases"]) cases[each["name"]] = each["verdict"] == "PASSED";
    return cases;
  }

  void checkRecord() const {
    if (!fileExists(junit())) return;  // killed before it began: nothing can be taken for a pass
    const std::map<std::string, bool> cases = junitCases(readFile(junit()));
    ASSERT_EQ(cases.size(), std::size(kScenarios));
    const reports::SuiteResult suite = harness::loadSuite(suiteFolder());
    ASSERT_EQ(suite.cases.size(), std::size(kScenarios));
    const std::map<std::string, bool> shown = pageCases();
    for (const reports::CaseResult& each : suite.cases) {
      checkCase(each);
      EXPECT_TRUE(shown.empty() || !shown.at(each.name) || each.verdict == Verdict::kPassed) << each.name;
      ASSERT_TRUE(cases.contains(each.name));
      EXPECT_TRUE(!cases.at(each.name) || each.verdict == Verdict::kPassed) << each.name;
    }
  }

  ScenarioFolder folder_;
  std::mt19937 random_{20261129};
};

TEST_F(KillTest, TheHarnessMayBeKilledAtAnyMoment) {
  int kills = 0;
  for (int round = 0; round < kMaxRounds && kills < kKills / 2; ++round) {
    Program program = start();
    if (program.endsWithin(std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 250)(random_)))) {
      program.wait();
    } else {
      ::kill(program.pid(), SIGKILL);
      kills += program.wait() == 128 + SIGKILL ? 1 : 0;
    }
    checkRecord();
    if (HasFailure()) {
      FAIL() << "in round " << round;
    }
  }
  EXPECT_EQ(kills, kKills / 2);
}

TEST_F(KillTest, ARunnerMayBeKilledAtAnyMoment) {
  int crashed = 0;
  for (int round = 0; round < kMaxRounds && crashed < kKills / 2; ++round) {
    Program program = start();
    const int wanted = std::uniform_int_distribution<int>(0, 120)(random_);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wanted);
    pid_t runner = -1;
    while (!program.endsWithin(std::chrono::milliseconds(1)))
      if (std::chrono::steady_clock::now() >= until && (runner = someRunner()) > 0) break;
    if (runner > 0) ::kill(runner, SIGKILL);
    const int code = program.wait();
    ASSERT_TRUE(code == 0 || code == 1) << program.err();
    checkRecord();
    for (const reports::CaseResult& each : harness::loadSuite(suiteFolder()).cases) {
      const bool killed = each.ended == "signal 9 (SIGKILL)";
      EXPECT_EQ(each.verdict, killed ? Verdict::kCrashed : Verdict::kPassed) << each.name << ": " << each.reason;
      crashed += killed ? 1 : 0;
    }
    if (HasFailure()) {
      FAIL() << "in round " << round;
    }
  }
  EXPECT_GE(crashed, kKills / 2);
}

}  // namespace
}  // namespace redraft::scenarios
