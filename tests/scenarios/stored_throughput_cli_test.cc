// Verdicts of `redraft compare` on stored runs, and the spread that `redraft bless --repeats` records.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

class StoredThroughputCliTest : public ::testing::Test {
 protected:
  StoredThroughputCliTest() {
    makeDirectories(folder_.root() + "/data");
    makeDirectories(goldens());
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
  }

  std::string goldens() const { return folder_.root() + "/goldens"; }

  /// Runs the scenario with steps of this length; its suite's folder.
  std::string suite(const std::string& name, const std::string& seconds) const {
    folder_.write("timed", ScenarioFolder::whole(
                               R"("training": {"steps": 4}, "golden": true, "fault": {"name": "script", "script": )"
                               R"(["begin", "seconds )" +
                               seconds + R"(", "train", "files", "end completed"]})"));
    const std::string out = folder_.root() + "/" + name;
    const Outcome run = redraft({"run", "timed", "--scenarios", folder_.root(), "--runner", kFakeRunner, "--out", out});
    EXPECT_LE(run.code, 1) << run.err;
    return std::filesystem::canonical(out + "/latest").string();
  }
  Outcome redraft(std::vector<std::string> arguments) const {
    if (arguments.front() != "list") arguments.insert(arguments.end(), {"--goldens", goldens()});
    return runRedraft(folder_.root(), arguments);
  }

  /// Reports, whose run folders may be gone, runs and goldens, in every mixture.
  void judgeAlike(const std::string& a, const std::string& b) const {
    const std::string report = folder_.root() + "/stored.json";
    std::filesystem::copy_file(a + "/report.json", report);
    const std::string run = folder_.root() + "/kept";
    std::filesystem::copy(b + "/timed", run, std::filesystem::copy_options::recursive);
    std::filesystem::remove_all(a);
    std::filesystem::remove_all(b + "/timed");
    std::string golden;
    for (const auto& each : std::filesystem::directory_iterator(goldens() + "/timed/perf")) golden = each.path();
    for (const auto& [from, to] :
         {std::pair{report, b + "/report.json"}, {report, run}, {golden, b + "/report.json"}}) {
      const Outcome compared = redraft({"compare", from, to});
      EXPECT_EQ(compared.code, 1) << compared.out << compared.err;
      EXPECT_NE(compared.out.find(" ×) SLOWER 1.0"), std::string::npos) << compared.out << compared.err;
    }
  }

  ScenarioFolder folder_;
};

void expectIn(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

TEST_F(StoredThroughputCliTest, WithoutARecordedSpreadItSaysWhatToRecord) {
  const std::string a = suite("a", "0.01"), b = suite("b", "0.02");
  const Outcome runs = redraft({"compare", a + "/timed", b + "/timed"});
  EXPECT_EQ(runs.code, 0) << "the numbers are equal, and nothing is shown";
  expectIn(runs.out, "throughput: AMBIGUOUS: one run a side");
  expectIn(runs.out, "redraft bless RUN --repeats");
  const Outcome reports = redraft({"compare", a, b});
  EXPECT_EQ(reports.code, 0);
  expectIn(reports.out, " ×) AMBIGUOUS");
  expectIn(reports.out, "no golden of this machine holds how far repeated runs are apart");
}

TEST_F(StoredThroughputCliTest, ABlessOfSeveralRunsLetsOneRunBeJudged) {
  std::vector<std::string> bless = {"bless", suite("r0", "0.01") + "/timed", "--reason", "right", "--repeats"};
  for (const char* seconds : {"0.01004", "0.00998", "0.01001", "0.00997", "0.01002"})
    bless.push_back(suite("r" + std::to_string(bless.size()), seconds) + "/timed");
  const Outcome blessed = redraft(bless);
  ASSERT_EQ(blessed.code, 0) << blessed.err;
  const std::string b = suite("b", "0.0105"), a = suite("a", "0.01");
  const Outcome slower = redraft({"compare", a + "/timed", b + "/timed"});
  EXPECT_EQ(slower.code, 1) << slower.out;
  expectIn(slower.out, "throughput: SLOWER, time of B over time of A 1.05");
  expectIn(slower.out, "(5 degrees of freedom)");
  expectIn(slower.out, "a bench of 12 pairs, by turns, about ± ");
  EXPECT_EQ(redraft({"compare", b + "/timed", a + "/timed"}).code, 0) << "faster is no finding";
  const Outcome reports = redraft({"compare", a, b});
  EXPECT_EQ(reports.code, 1);
  expectIn(reports.out, "DIFFERS");
  expectIn(reports.out, " ×) SLOWER 1.05");
  expectIn(reports.out, "a bench of both by turns, about ± ");
  judgeAlike(a, b);
}

TEST_F(StoredThroughputCliTest, AReportSaysWhetherNumbersAreThoseOfAGolden) {
  const std::string suiteFolder = suite("a", "0.01");
  ASSERT_EQ(redraft({"bless", suiteFolder + "/timed", "--reason", "right"}).code, 0);
  std::string golden;
  for (const auto& each : std::filesystem::directory_iterator(goldens() + "/timed/numerics")) golden = each.path();
  const Outcome same = redraft({"compare", golden, suiteFolder + "/report.json"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  std::string report = readFile(suiteFolder + "/report.json", 1 << 20);
  const std::size_t digest = report.find("\"digest\": \"") + 11;
  report[digest] = report[digest] == '0' ? '1' : '0';
  writeFileAtomically(folder_.root() + "/other.json", report);
  const Outcome other = redraft({"compare", golden, folder_.root() + "/other.json"});
  EXPECT_EQ(other.code, 1) << other.out << other.err;
  expectIn(other.out, "other numbers");
}

TEST_F(StoredThroughputCliTest, ARunThatIsNoCaseOfTheReportIsRefused) {
  const std::string suiteFolder = suite("a", "0.01");
  std::string report = readFile(suiteFolder + "/report.json", 1 << 20);
  const std::string name = "\"name\": \"timed\"";
  report.replace(report.find(name), name.size(), "\"name\": \"other\"");
  writeFileAtomically(folder_.root() + "/other.json", report);
  const Outcome refused = redraft({"compare", folder_.root() + "/other.json", suiteFolder + "/timed"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  expectIn(refused.err, "holds no case timed");
}

TEST_F(StoredThroughputCliTest, RepeatsOfOtherCodeAreRefused) {
  const std::string run = suite("a", "0.01");
  folder_.write("timed", ScenarioFolder::whole(
                             R"("training": {"steps": 4}, "golden": true, "fault": {"name": "script", "script": )"
                             R"(["begin", "loss 3", "train", "files", "end completed"]})"));
  redraft({"run", "timed", "--scenarios", folder_.root(), "--runner", kFakeRunner, "--out", folder_.root() + "/other"});
  const Outcome bless =
      redraft({"bless", run + "/timed", "--reason", "right", "--repeats", folder_.root() + "/other/latest/timed"});
  EXPECT_EQ(bless.code, 2);
  expectIn(bless.err, "has other numbers");
}

}  // namespace
}  // namespace redraft::scenarios
