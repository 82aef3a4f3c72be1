// `redraft run --html` and `redraft report`, over the fake runner.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

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

TEST_F(ReportCliTest, WhatIsNoSuitesFolderIsRefused) {
  const Outcome outcome = run({"report", folder_.root()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("suite.jsonl"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace redraft::scenarios
