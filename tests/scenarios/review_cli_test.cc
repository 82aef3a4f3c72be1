// `redraft bless --review` and `--prune`, as a user meets them, over the fake runner.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

class ReviewCliTest : public ::testing::Test {
 protected:
  ReviewCliTest() {
    makeDirectories(folder_.root() + "/data");
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
    makeDirectories(goldens());
    for (const char* name : {"one", "two"}) scenario(name, "2.5");
    run();
    EXPECT_EQ(redraft({"bless", suite(), "--reason", "first baseline", "--goldens", goldens()}).code, 0);
    for (const char* name : {"one", "two"}) scenario(name, "3");
    EXPECT_EQ(run().code, 1);
    before_ = goldenTexts();
  }

  void scenario(const std::string& name, const std::string& loss) const {
    folder_.write(name,
                  ScenarioFolder::whole("\"training\": {\"steps\": 3}, \"golden\": true, \"expect\": {\"verdict\": "
                                        "\"PASSED\"}, \"fault\": {\"name\": \"script\", \"script\": [\"begin\", "
                                        "\"loss " +
                                        loss + "\", \"train\", \"files\", \"end completed\"]}"));
  }
  Outcome redraft(const std::vector<std::string>& arguments, const std::string& input = "") const {
    const std::string path = folder_.root() + "/in";
    writeFileAtomically(path, input);
    return runRedraft(folder_.root(), arguments, path);
  }
  Outcome run() const {
    return redraft({"run", "one", "two", "--scenarios", folder_.root(), "--runner", kFakeRunner, "--out",
                    folder_.root() + "/runs", "--goldens", goldens()});
  }
  Outcome review(const std::vector<std::string>& more, const std::string& input = "") const {
    std::vector<std::string> arguments = {"bless", "--review", suite(), "--goldens", goldens()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return redraft(arguments, input);
  }
  Outcome prune(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"bless", "--prune", "--scenarios", folder_.root(), "--goldens", goldens()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return redraft(arguments);
  }
  std::string goldens() const { return folder_.root() + "/goldens"; }
  std::string suite() const { return folder_.root() + "/runs/latest"; }
  std::string golden(const std::string& scenario) const {
    const std::string folder = goldens() + "/" + scenario + "/numerics";
    return folder + "/" + listDirectory(folder).at(0);
  }
  std::string goldenTexts() const { return readFile(golden("one")) + readFile(golden("two")); }

  ScenarioFolder folder_;
  std::string before_;
};

void expectText(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

TEST_F(ReviewCliTest, APersonGoesThroughWhatWouldChangeAndWritesItAtTheEnd) {
  const Outcome outcome = review({}, "a\nd\ns\nS\nA\n  \nthe schedule changed\ny\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expectText(outcome.out, "one: 21 values in 7 series would change\n  its golden is of commit ");
  expectText(outcome.out, "\"first baseline\"");
  expectText(outcome.out,
             "[1/7] step/*/accuracy: 3 steps, the first 0, the furthest 0: 2.5 → 3 (2.1e+06 ULP, "
             "0.2 relative)");
  expectText(outcome.out, "    step/2/grad_norm: 2.5 → 3");
  expectText(outcome.out, "a golden needs a reason");
  expectText(
      outcome.out,
      "one: 3 of 21 values accepted; runs will still differ from it in the other 18\ntwo: 21 of 21 values accepted\n");
  const Json one = Json::parse(readFile(golden("one"))), two = Json::parse(readFile(golden("two")));
  EXPECT_EQ(one["values"]["step/1/accuracy"], "0x1.8p+1");
  EXPECT_EQ(one["values"]["step/1/loss"], "0x1.4p+1");
  EXPECT_EQ(one["provenance"]["reason"], "the schedule changed");
  EXPECT_EQ(one["provenance"]["accepted"], "3 of 21 changed values");
  expectText(one["history"][0], "first baseline");
  EXPECT_EQ(two["values"]["step/1/loss"], "0x1.8p+1");
}

TEST_F(ReviewCliTest, NothingIsWrittenBeforeTheLastYes) {
  for (const char* input : {"A\nA\n", "A\nA\nbecause\n", "A\n", ""}) {
    const Outcome cut = review({}, input);
    EXPECT_EQ(cut.code, 2) << input;
    expectText(cut.err, "nothing was written");
    EXPECT_EQ(goldenTexts(), before_) << input;
  }
  EXPECT_EQ(review({}, "A\nA\nbecause\nn\n").code, 0);
  EXPECT_EQ(review({}, "q\n").code, 0);
  EXPECT_EQ(goldenTexts(), before_);
  EXPECT_EQ(listDirectory(goldens() + "/one/numerics").size(), 1u) << "no temporary is left";
}

TEST_F(ReviewCliTest, GlobsAcceptWithoutAsking) {
  const Outcome outcome = review({"--accept", "step/*/loss", "--accept", "two:step/0/*", "--reason", "a new loss"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expectText(outcome.out,
             "one: 3 of 21 values accepted; runs will still differ from it in the other 18\ntwo: 9 of 21 values "
             "accepted; runs will still differ from it in the other 12\n");
  const Json two = Json::parse(readFile(golden("two")));
  EXPECT_EQ(two["values"]["step/0/grad_norm"], "0x1.8p+1");
  EXPECT_EQ(two["values"]["step/1/grad_norm"], "0x1.4p+1");
  EXPECT_EQ(run().code, 1) << "the rest still differs";
  EXPECT_EQ(review({"--accept-scenario", "*", "--reason", "and the rest"}).code, 0);
  EXPECT_EQ(run().code, 0);
}

TEST_F(ReviewCliTest, AGlobThatMatchesNothingAndAnEmptyReasonAreErrors) {
  const Outcome nothing = review({"--accept", "step/*/los", "--reason", "x"});
  EXPECT_EQ(nothing.code, 2);
  expectText(nothing.err, "did you mean step/*/loss?");
  EXPECT_EQ(review({"--accept-scenario", "three", "--reason", "x"}).code, 2);
  for (const char* reason : {"", "  "}) {
    const Outcome empty = review({"--accept", "*", "--reason", reason});
    EXPECT_EQ(empty.code, 2);
    expectText(empty.err, "--reason");
  }
  EXPECT_EQ(redraft({"bless", suite(), "--accept", "*", "--reason", "x"}).code, 2) << "needs --review";
  EXPECT_EQ(goldenTexts(), before_);
}

TEST_F(ReviewCliTest, ADryRunListsWhatWouldChange) {
  const Outcome outcome = review({"--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expectText(outcome.out, "two: its golden is of commit");
  expectText(outcome.out, "  step/*/gradient/w: 3 steps");
  EXPECT_EQ(goldenTexts(), before_);
}

TEST_F(ReviewCliTest, AMergeConflictIsNamedAndSettledByAReview) {
  std::string text = readFile(golden("one"));
  const std::size_t begin = text.find("  \"step/1/loss\""), end = text.find('\n', begin) + 1;
  const std::string line = text.substr(begin, end - begin);
  text.replace(begin, end - begin, "<<<<<<< HEAD\n" + line + "=======\n" + line + ">>>>>>> feature\n");
  writeFileAtomically(golden("one"), text);
  const Outcome refused = run();
  EXPECT_EQ(refused.code, 2);
  expectText(refused.err, "HEAD against feature: step/1/loss");
  expectText(refused.err, "redraft bless --review RUN");
  const Outcome settled = redraft({"bless", "--review", suite() + "/one", "--goldens", goldens(), "--accept-scenario",
                                   "one", "--reason", "merged"});
  EXPECT_EQ(settled.code, 0) << settled.err;
  EXPECT_EQ(readFile(golden("one")).find("<<<<"), std::string::npos);
}

TEST_F(ReviewCliTest, AGoldenOfNoScenarioStopsTheSuiteUntilItIsPruned) {
  std::filesystem::remove(folder_.root() + "/files/two.json");
  const auto runOne = [&] {
    return redraft({"run", "one", "--scenarios", folder_.root(), "--runner", kFakeRunner, "--out",
                    folder_.root() + "/runs", "--goldens", goldens()});
  };
  const Outcome refused = runOne();
  EXPECT_EQ(refused.code, 2);
  expectText(refused.err, golden("two") + ": no scenario is compared with a golden of this name");
  expectText(refused.err, "redraft bless --prune --reason");
  EXPECT_EQ(prune({}).code, 2) << "needs a reason";
  expectText(prune({"--dry-run"}).out, "2 without a use");
  EXPECT_TRUE(fileExists(goldens() + "/two"));
  EXPECT_EQ(prune({"--reason", "two is one now"}).code, 0);
  EXPECT_FALSE(fileExists(goldens() + "/two"));
  expectText(readFile(goldens() + "/pruned.jsonl"), "two is one now");
  EXPECT_EQ(runOne().code, 1) << "its numbers still differ";
}

}  // namespace
}  // namespace redraft::scenarios
