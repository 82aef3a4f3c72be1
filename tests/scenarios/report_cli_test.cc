// `redraft run --html` and `redraft report`, over the fake runner.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"
#include "tests/scenarios/step_trace.h"

namespace redraft::scenarios {
namespace {

class ReportCliTest : public ::testing::Test {
 protected:
  ReportCliTest() {
    makeDirectories(folder_.root() + "/data");
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
    folder_.write("good", ScenarioFolder::whole("\"training\": {\"steps\": 3}, \"golden\": false"));
  }

  Outcome run(const std::vector<std::string>& arguments) const { return runRedraft(folder_.root(), arguments); }
  Outcome suite(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"run",       "--scenarios", folder_.root(),           "--runner",
                                          kFakeRunner, "--out",       folder_.root() + "/runs", "good"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  static Json dataOf(const std::string& path) {
    const std::string page = readFile(path), open = "id=\"data\">";
    const std::size_t begin = page.find(open) + open.size();
    return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  }
  std::string file(const std::string& name) const { return folder_.root() + "/" + name; }

  ScenarioFolder folder_;
};

TEST_F(ReportCliTest, ASuiteLeavesAPageWithWhatItsRunsLeft) {
  const Outcome outcome = suite({"--html", file("mine.html")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json data = dataOf(file("mine.html"));
  EXPECT_EQ(data["suite"]["cases"][0]["verdict"], "PASSED");
  EXPECT_EQ(data["details"]["cases"]["good"]["curves"]["steps"].size(), 3u) << data["details"].dump(2);
  EXPECT_EQ(readFile(file("mine.html")), readFile(file("runs/latest/report.html")));
}

TEST_F(ReportCliTest, ThePageIsMadeAgainFromASuiteThatWasMoved) {
  ASSERT_EQ(suite({}).code, 0);
  std::filesystem::rename(std::filesystem::canonical(file("runs/latest")), file("elsewhere"));
  std::filesystem::remove(file("elsewhere/report.html"));
  const Outcome outcome = run({"report", file("elsewhere")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("elsewhere/report.html"), std::string::npos);
  EXPECT_EQ(dataOf(file("elsewhere/report.html"))["details"]["cases"]["good"]["curves"]["steps"].size(), 3u);
  ASSERT_EQ(run({"report", file("elsewhere"), "--html", file("x.html")}).code, 0);
  EXPECT_EQ(readFile(file("x.html")), readFile(file("elsewhere/report.html")));
}

TEST_F(ReportCliTest, ARunHasAPageOfItsOwn) {
  ASSERT_EQ(suite({}).code, 0);
  const Outcome outcome = run({"report", file("runs/latest/good")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json data = dataOf(file("runs/latest/good/report.html"));
  EXPECT_EQ(data["run"]["name"], "good");
  EXPECT_EQ(data["run"]["details"]["curves"]["steps"].size(), 3u);
  EXPECT_FALSE(data["run"]["details"]["attribution"]["devices"].empty());
  EXPECT_EQ(data["run"]["result"]["verdict"], "PASSED");
  EXPECT_FALSE(data.contains("suite"));
}

TEST_F(ReportCliTest, ATraceOfAnotherToolHasATimelineAndWhereItsTimeWent) {
  writeFileAtomically(file("a.json"), testing_support::stepTrace(100));
  writeFileAtomically(file("b.json"), testing_support::stepTrace(160));
  const Outcome outcome = run({"report", file("b.json"), "--against", file("a.json")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json details = dataOf(file("b.json.html"))["run"]["details"];
  EXPECT_EQ(details["timeline"]["records"], 8);
  const Json& device = details["attribution"]["devices"][0];
  EXPECT_EQ(device["wall_ns"], 1'000'000);
  EXPECT_EQ(device["before"]["changes"][0]["ns"].get<double>(), 60'000);
  EXPECT_EQ(details["attribution"]["reference"], file("a.json"));
  EXPECT_EQ(details["affinity"]["cells"][0]["allowed"], "unknown");
}

TEST_F(ReportCliTest, ASuiteIsComparedWithAnotherCaseByCase) {
  ASSERT_EQ(suite({}).code, 0);
  for (const auto& [folder, micros] : {std::pair("before", 100), std::pair("now", 160)}) {
    std::filesystem::copy(std::filesystem::canonical(file("runs/latest")), file(folder),
                          std::filesystem::copy_options::recursive);
    const std::string trace = file(std::string(folder) + "/good/trace");
    std::filesystem::remove_all(trace);
    makeDirectories(trace);
    writeFileAtomically(trace + "/device-0.json", testing_support::stepTrace(micros));
  }
  ASSERT_EQ(run({"report", file("now"), "--against", file("before")}).code, 0);
  const Json with = dataOf(file("now/report.html"))["details"]["cases"]["good"]["attribution"];
  EXPECT_EQ(with["devices"][0]["before"]["changes"][0]["ns"].get<double>(), 60'000);
  ASSERT_EQ(run({"report", file("now")}).code, 0);
  EXPECT_FALSE(dataOf(file("now/report.html"))["details"]["cases"]["good"]["attribution"].contains("reference"));
  std::filesystem::remove_all(file("before/good/trace"));
  ASSERT_EQ(run({"report", file("now"), "--against", file("before")}).code, 0);
  const Json without = dataOf(file("now/report.html"))["details"]["cases"]["good"]["attribution"];
  EXPECT_NE(without["notes"].back().get<std::string>().find("before/good/trace"), std::string::npos) << without;
  const Outcome refused = run({"report", file("now"), "--against", file("before/good")});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("is no suite's folder"), std::string::npos) << refused.err;
}

TEST_F(ReportCliTest, WhatIsNoSuitesFolderIsRefused) {
  const Outcome outcome = run({"report", folder_.root()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("suite.jsonl"), std::string::npos) << outcome.err;
  EXPECT_EQ(run({"report", file("absent")}).code, 2);
}

}  // namespace
}  // namespace redraft::scenarios
