// `redraft run --format` and `--known-failures`, over the fake runner.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

class FormatsCliTest : public ::testing::Test {
 protected:
  FormatsCliTest() {
    makeDirectories(folder_.root() + "/data");
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
    folder_.write("good", ScenarioFolder::whole("\"training\": {\"steps\": 3}, \"golden\": false"));
    folder_.write("worse",
                  ScenarioFolder::whole("\"fault\": {\"name\": \"script\", \"script\": [\"begin\", \"signal 11\"]}"));
  }

  Outcome run(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"run",       "--scenarios", folder_.root(),          "--runner",
                                          kFakeRunner, "--out",       folder_.root() + "/runs"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return runRedraft(folder_.root(), arguments);
  }
  std::string file(const std::string& name) const { return folder_.root() + "/" + name; }
  std::string known(const std::string& finding, const std::string& expires) const {
    writeFileAtomically(file("known.json"),
                        R"({"schema": "redraft.known-failures/1", "failures": [{"scenario": "worse", "finding": ")" +
                            finding + R"(", "owner": "@o", "reason": "r", "expires": ")" + expires + "\"}]}");
    return file("known.json");
  }

  ScenarioFolder folder_;
};

void expectIn(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

TEST_F(FormatsCliTest, SeveralFormatsAreWrittenAtOnce) {
  const Outcome outcome =
      run({"good", "worse", "--format", "sarif=" + file("s.sarif"), "--format", "gitlab=" + file("g.json"), "--format",
           "benchmark=" + file("b.json"), "--format", "junit=" + file("j.xml"), "--format", "github"});
  EXPECT_EQ(outcome.code, 1);
  const Json sarif = Json::parse(readFile(file("s.sarif"))), gitlab = Json::parse(readFile(file("g.json")));
  ASSERT_EQ(sarif["runs"][0]["results"].size(), 1u);
  EXPECT_EQ(sarif["runs"][0]["results"][0]["ruleId"], "crash/signal");
  EXPECT_EQ(gitlab[0]["fingerprint"], sarif["runs"][0]["results"][0]["partialFingerprints"]["redraftFinding/v1"]);
  expectIn(sarif.dump(), "files/worse.json");
  EXPECT_EQ(Json::parse(readFile(file("b.json")))["benchmarks"][0]["name"], "good");
  expectIn(readFile(file("j.xml")), "failures=\"1\"");
  expectIn(outcome.out, "2 cases: 1 as expected");
  expectIn(outcome.out, "\n::error file=");
}

TEST_F(FormatsCliTest, AFormatWithoutAFileIsTheOneDocumentOnStandardOutput) {
  const Outcome outcome = run({"good", "--format", "sarif"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(Json::parse(outcome.out)["version"], "2.1.0");
  for (const auto& [arguments, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--format", "sarf"}, "did you mean sarif?"},
           {{"--format", "sarif="}, "has no name"},
           {{"--format", "sarif", "--json"}, "takes one document"},
           {{"--format", "sarif", "--format", "github"}, "takes one document"},
           {{"--format", "sarif=/x", "--format", "json=/x"}, "two formats for one file"}}) {
    const Outcome refused = run(arguments);
    EXPECT_EQ(refused.code, 2) << refused.err;
    expectIn(refused.err, part);
  }
}

TEST_F(FormatsCliTest, AKnownFailureDoesNotFailTheSuiteUntilItExpires) {
  EXPECT_EQ(run({"worse"}).code, 1);
  const Outcome known = run({"worse", "--known-failures", this->known("crash/signal", "2999-12-31")});
  EXPECT_EQ(known.code, 0) << known.out << known.err;
  expectIn(known.out, "0 as expected (1 CRASHED), 1 known failure");
  expectIn(known.err, "a known failure");
  const Outcome expired = run({"worse", "--known-failures", this->known("crash/signal", "2020-12-31")});
  EXPECT_EQ(expired.code, 1);
  expectIn(expired.out, "known failure has expired: worse crash/signal (owner @o, until 2020-12-31: r)");
  EXPECT_EQ(run({"good", "--known-failures", file("known.json")}).code, 1) << "an expired entry alone fails";
}

TEST_F(FormatsCliTest, AnEntryThatMatchesNothingFailsOnlyWithTheFlag) {
  const std::string list = known("crash/signal", "2999-12-31");
  folder_.write("worse", ScenarioFolder::whole("\"training\": {\"steps\": 3}, \"golden\": false"));
  const Outcome outcome = run({"worse", "--known-failures", list});
  EXPECT_EQ(outcome.code, 0);
  expectIn(outcome.out, "known failure passes now, remove it: worse crash/signal");
  EXPECT_EQ(run({"worse", "--known-failures", list, "--strict-known-failures"}).code, 1);
  EXPECT_EQ(run({"good", "--known-failures", list, "--strict-known-failures"}).code, 0) << "its scenario was not run";
  EXPECT_EQ(run({"good", "--known-failures", "/nonexistent"}).code, 2);
}

}  // namespace
}  // namespace redraft::scenarios
