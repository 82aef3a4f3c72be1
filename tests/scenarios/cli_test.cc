// The command line, as a user meets it, over the fake runner.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

class CliTest : public ::testing::Test {
 protected:
  CliTest() {
    makeDirectories(folder_.root() + "/data");
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
    scenario("good", "[\"begin\", \"train\", \"files\", \"end completed\"]", "PASSED", "");
    scenario("bad", "[\"begin\", \"exception out of luck\", \"end failed\"]", "FAILED", "exception/unattributed");
  }

  void scenario(const std::string& name, const std::string& script, const std::string& verdict,
                const std::string& finding) {
    folder_.write(name,
                  ScenarioFolder::whole("\"training\": {\"steps\": 3}, \"fault\": {\"name\": \"script\", \"script\": " +
                                        script + "}, \"expect\": {\"verdict\": \"" + verdict + "\"" +
                                        (finding.empty() ? "" : ", \"finding\": \"" + finding + "\"") + "}"));
  }

  Outcome redraft(const std::vector<std::string>& arguments) const { return runRedraft(folder_.root(), arguments); }
  Outcome run(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"run",       "--scenarios", folder_.root(),          "--runner",
                                          kFakeRunner, "--out",       folder_.root() + "/runs"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return redraft(arguments);
  }
  std::string latest(const std::string& name) const { return folder_.root() + "/runs/latest/" + name; }

  ScenarioFolder folder_;
};

void expectPart(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

TEST_F(CliTest, ListsScenariosWithWhatIsExpected) {
  const Outcome list = redraft({"list", "--scenarios", folder_.root()});
  EXPECT_EQ(list.code, 0);
  expectPart(list.out, "bad   exception/unattributed");
  EXPECT_EQ(list.out.find("twin"), std::string::npos);
  const Json json = Json::parse(redraft({"list", "--json", "--scenarios", folder_.root()}).out);
  EXPECT_EQ(json.size(), 4u);
  EXPECT_EQ(json[1]["name"], "bad/twin");
  EXPECT_EQ(json[1]["expected_verdict"], "PASSED");
}

TEST_F(CliTest, ShowsAScenarioResolved) {
  const Outcome show = redraft({"show", "good", "--json", "--scenarios", folder_.root()});
  EXPECT_EQ(show.code, 0);
  EXPECT_EQ(Json::parse(show.out)["training"]["queue_depth"], 4);
  expectPart(redraft({"show", "god", "--scenarios", folder_.root()}).err, "did you mean \"good\"?");
}

TEST_F(CliTest, ASuiteAsExpectedExitsWithZero) {
  const Outcome outcome = run({"--filter", "good", "--filter", "bad"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  expectPart(outcome.out, "2 cases: 2 as expected (1 PASSED, 1 FAILED)");
  expectPart(outcome.out, "cause      exception/unattributed: std::runtime_error: out of luck");
  expectPart(outcome.err, "[2/2]");
}

TEST_F(CliTest, ACaseThatIsNotAsExpectedExitsWithOne) {
  scenario("worse", "[\"begin\", \"signal 11\"]", "PASSED", "");
  const Outcome outcome = run({"worse"});
  EXPECT_EQ(outcome.code, 1);
  expectPart(outcome.out, "CRASHED worse, but expected PASSED");
}

TEST_F(CliTest, JsonIsOneDocumentAndEverythingElseGoesToStandardError) {
  const Outcome outcome = run({"--json", "good"});
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["cases"].size(), 1u);
  EXPECT_EQ(json["cases"][0]["verdict"], "PASSED");
  expectPart(outcome.err, "PASSED good");
}

TEST_F(CliTest, AFilterThatSelectsNothingIsAnErrorNotAnEmptySuite) {
  const Outcome outcome = run({"--filter", "goood"});
  EXPECT_EQ(outcome.code, 2);
  expectPart(outcome.err, "did you mean \"good\"?");
}

TEST_F(CliTest, BadUsageExitsWithTwoAndNamesWhatWasMeant) {
  for (const auto& [arguments, remedy] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"rnu"}, "did you mean run?"},
           {{"run", "--fliter", "x"}, "did you mean --filter?"},
           {{"run", "--jobs", "0"}, "--jobs"},
           {{"run", "--shard", "3/2"}, "write i/n"},
           {{"bless", "x"}, "--reason"},
           {{}, "redraft --help"}}) {
    const Outcome outcome = redraft(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    expectPart(outcome.err, remedy);
  }
}

TEST_F(CliTest, AReportOfAnEarlierRunCannotPassForThisOnes) {
  const std::string junit = folder_.root() + "/junit.xml";
  writeFileAtomically(junit, "an old, green report");
  EXPECT_EQ(run({"--junit", junit, "no-such-scenario"}).code, 2);
  EXPECT_FALSE(fileExists(junit));
}

TEST_F(CliTest, AMissingRunnerIsTheEnvironments) {
  const Outcome outcome =
      redraft({"run", "--scenarios", folder_.root(), "--runner", "/nonexistent", "--out", folder_.root()});
  EXPECT_EQ(outcome.code, 3);
  expectPart(outcome.err, "build it");
}

TEST_F(CliTest, ARunIsReplayedFromItsFolderAloneAfterItWasMoved) {
  ASSERT_EQ(run({"bad"}).code, 0);
  const std::string moved = folder_.root() + "/elsewhere";
  std::filesystem::rename(std::filesystem::canonical(latest("bad")), moved);
  std::filesystem::remove_all(folder_.root() + "/files");
  std::filesystem::remove_all(folder_.root() + "/data");
  const Outcome replay = redraft({"replay", moved, "--runner", kFakeRunner, "--out", folder_.root() + "/replays"});
  EXPECT_EQ(replay.code, 0) << replay.err << replay.out;
  expectPart(replay.out,
             "the same signature came back: exception/unattributed|exception|drafter[1]|1|drafter_forward|0");
}

TEST_F(CliTest, AReplayOfAPassedRunComparesItsNumbers) {
  ASSERT_EQ(run({"good"}).code, 0);
  const Outcome replay =
      redraft({"replay", latest("good"), "--runner", kFakeRunner, "--out", folder_.root() + "/replays"});
  EXPECT_EQ(replay.code, 0) << replay.err << replay.out;
  expectPart(replay.out, "bit for bit");
}

TEST_F(CliTest, AnEditedOrForeignRunFolderIsRefused) {
  ASSERT_EQ(run({"good"}).code, 0);
  writeFileAtomically(latest("good") + "/schedule.token", "free/1/00/0\n");
  const Outcome edited = redraft({"replay", latest("good"), "--runner", kFakeRunner, "--out", folder_.root() + "/r"});
  EXPECT_EQ(edited.code, 2);
  expectPart(edited.err, "does not fit the scenario");
  EXPECT_EQ(redraft({"replay", folder_.root()}).code, 2);
  EXPECT_EQ(redraft({"replay", folder_.root() + "/runs/latest"}).code, 2);
  EXPECT_EQ(redraft({"audit", "/nonexistent"}).code, 2);
  EXPECT_EQ(redraft({"compare", "/nonexistent", folder_.root()}).code, 2);
}

TEST_F(CliTest, ATokenRunsItsScenarioWithItsSeed) {
  ASSERT_EQ(run({"good"}).code, 0);
  std::string token = readFile(latest("good") + "/schedule.token");
  token.pop_back();
  const Outcome same = run({"--schedule", token, "--json"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(Json::parse(same.out)["cases"].size(), 1u);
  expectPart(run({"--schedule", "free/1/0/0"}).err, "no selected scenario");
  expectPart(run({"--schedule", "free/2/x"}).err, "no token that is known");
}

TEST_F(CliTest, TwoReportsAreComparedCaseByCase) {
  ASSERT_EQ(run({"good"}).code, 0);
  const std::string first = std::filesystem::canonical(folder_.root() + "/runs/latest").string();
  ASSERT_EQ(run({"good"}).code, 0);
  EXPECT_EQ(redraft({"compare", first + "/report.json", folder_.root() + "/runs/latest"}).code, 0);
  scenario("good", "[\"begin\", \"loss 3\", \"train\", \"files\", \"end completed\"]", "PASSED", "");
  ASSERT_EQ(run({"good"}).code, 0);
  const Outcome differs = redraft({"compare", first, folder_.root() + "/runs/latest"});
  EXPECT_EQ(differs.code, 1);
  expectPart(differs.out, "DIFFERS  good  other numbers");
}

TEST_F(CliTest, TwoRunsAreComparedStepByStep) {
  ASSERT_EQ(run({"good"}).code, 0);
  const std::string first = std::filesystem::canonical(latest("good")).string();
  scenario("good", "[\"begin\", \"loss 3\", \"train\", \"files\", \"end completed\"]", "PASSED", "");
  ASSERT_EQ(run({"good"}).code, 0);
  EXPECT_EQ(redraft({"compare", first, first}).code, 0);
  const Outcome differs = redraft({"compare", first, latest("good")});
  EXPECT_EQ(differs.code, 1);
  expectPart(differs.out, "first difference at step 0");
  expectPart(differs.out, "loss: expected 0x1.4p+1, got 0x1.8p+1 (2097152 ULP)");
  expectPart(differs.out, "gradients first differ at step 0, 1 of them; the furthest off:\n    w: about 0.2 relative");
}

TEST_F(CliTest, ABadScenarioFileStopsASuiteBeforeAnythingIsWritten) {
  folder_.write("broken", "{\"schema\": \"redraft.scenario/1\",\n \"trainnig\": {}}");
  const Outcome outcome = run({"good"});
  EXPECT_EQ(outcome.code, 2);
  expectPart(outcome.err, "broken.json:2");
  expectPart(outcome.err, "\"training\"");
  EXPECT_FALSE(fileExists(folder_.root() + "/runs"));
}

TEST_F(CliTest, ARunFolderWithATruncatedFileIsRefusedByNameAndStaysAsItIs) {
  ASSERT_EQ(run({"good"}).code, 0);
  const std::string whole = std::filesystem::canonical(latest("good")).string();
  for (const auto& [command, file] :
       std::vector<std::pair<std::string, std::string>>{{"compare", "metrics.jsonl"},
                                                        {"compare", "digests.bin"},
                                                        {"compare", "environment.json"},
                                                        {"replay", "scenario.resolved.json"},
                                                        {"replay", "schedule.token"},
                                                        {"replay", "result.json"},
                                                        {"audit", "scenario.resolved.json"},
                                                        {"audit", "events.jsonl"},
                                                        {"audit", "memory.json"}}) {
    const std::string cut = folder_.root() + "/cut";
    std::filesystem::remove_all(cut);
    std::filesystem::copy(whole, cut, std::filesystem::copy_options::recursive);
    const std::string half = readFile(cut + "/" + file).substr(0, std::filesystem::file_size(cut + "/" + file) / 2);
    writeFileAtomically(cut + "/" + file, half);
    std::vector<std::string> arguments = {command, cut};
    if (command == "compare") arguments.push_back(whole);
    if (command == "replay")
      arguments.insert(arguments.end(), {"--runner", kFakeRunner, "--out", folder_.root() + "/r"});
    const Outcome outcome = redraft(arguments);
    EXPECT_EQ(outcome.code, 2) << command << ' ' << file << ": " << outcome.out << outcome.err;
    expectPart(outcome.err, "cut");
    EXPECT_EQ(readFile(cut + "/" + file), half) << command << ' ' << file;
  }
}

TEST_F(CliTest, AReplayUnderADebuggerStartsTheRunnerThroughIt) {
  ASSERT_EQ(run({"bad"}).code, 0);
  const std::string bin = folder_.root() + "/bin";
  makeDirectories(bin);
  writeFileAtomically(bin + "/gdb", "#!/bin/sh\necho \"debugger: $1 $2\" >&2\nshift 2\nexec \"$@\"\n");
  std::filesystem::permissions(bin + "/gdb", std::filesystem::perms::owner_all);
  const std::vector<std::string> arguments = {
      "replay", latest("bad"), "--debugger", "--runner", kFakeRunner, "--out", folder_.root() + "/replays"};
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (bin + ":" + path).c_str(), 1);
  const Outcome replay = redraft(arguments);
  ::setenv("PATH", "/nonexistent", 1);
  const Outcome without = redraft(arguments);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(replay.code, 0) << replay.err;
  expectPart(replay.err, "debugger: -q --args");
  expectPart(replay.out, "the same signature came back");
  EXPECT_EQ(without.code, 3);
  expectPart(without.err, "gdb: is not installed");
}

TEST_F(CliTest, ABlessedRunIsTheGoldenThatTheNextOneEquals) {
  const std::string goldens = folder_.root() + "/goldens";
  makeDirectories(goldens);
  EXPECT_EQ(run({"good/twin", "--goldens", goldens}).code, 1) << "incomparable is no pass";
  const Outcome bless = redraft({"bless", folder_.root() + "/runs/latest", "--reason", "first", "--goldens", goldens});
  EXPECT_EQ(bless.code, 0) << bless.err;
  expectPart(bless.out, "good/twin: new");
  EXPECT_EQ(run({"good/twin", "--goldens", goldens}).code, 0);
  EXPECT_EQ(redraft({"bless", latest("good.twin"), "--reason", " ", "--goldens", goldens}).code, 2);
}

TEST_F(CliTest, ARunThatFailedForAnotherReasonCannotBeBlessed) {
  ASSERT_EQ(run({"bad"}).code, 0);
  const Outcome bless = redraft({"bless", latest("bad"), "--reason", "x", "--goldens", folder_.root()});
  EXPECT_EQ(bless.code, 2);
  expectPart(bless.err, "has no golden");
}

TEST_F(CliTest, AnAuditOfACleanRunExitsWithZeroAndNamesWhatItCannotSee) {
  ASSERT_EQ(run({"good"}).code, 0);
  const Outcome audit = redraft({"audit", latest("good")});
  EXPECT_EQ(audit.code, 0) << audit.err;
  expectPart(audit.out, "clean  copy-edge");
  expectPart(audit.out, "not computable  stream-order");
  EXPECT_EQ(redraft({"audit", latest("good"), "--contract", "x"}).code, 2);
}

TEST_F(CliTest, AScenarioCanBeMovedToGpusAndToNothingElse) {
  const Outcome moved = run({"good", "--backend", "cuda"});
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(Json::parse(readFile(latest("good") + "/scenario.resolved.json", 1 << 20))["backend"], "cuda");
  EXPECT_EQ(run({"good", "--backend", "rocm"}).code, 2);
}

TEST_F(CliTest, PassesOnThatNothingIsToBeCaptured) {
  EXPECT_EQ(run({"--no-capture", "good"}).code, 0);
  expectPart(readFile(latest("good") + "/runner.log"), "option --no-capture");
  EXPECT_EQ(run({"good"}).code, 0);
  EXPECT_EQ(readFile(latest("good") + "/runner.log").find("option"), std::string::npos);
}

TEST_F(CliTest, ASkippedCaseIsCountedAndFailsTheSuiteUnlessThatIsAllowed) {
  scenario("elsewhere", "[\"say redraft: error: needs 2 GPUs: a and b share GPU 0\", \"exit 4\"]", "PASSED", "");
  const Outcome strict = run({"elsewhere", "good"});
  EXPECT_EQ(strict.code, 1);
  expectPart(strict.out, "SKIPPED");
  expectPart(strict.out, "needs 2 GPUs: a and b share GPU 0");
  expectPart(strict.out, "2 cases: 1 as expected (1 PASSED, 1 SKIPPED), 1 skipped");
  EXPECT_EQ(run({"elsewhere", "good", "--allow-skipped"}).code, 0);
  EXPECT_EQ(run({"elsewhere", "bad", "--allow-skipped"}).code, run({"bad"}).code);
}

TEST_F(CliTest, RunsOfTwoClassesAreComparedByTheirDistance) {
  ASSERT_EQ(run({"good"}).code, 0);
  const std::string kept = folder_.root() + "/kept";
  std::filesystem::copy(latest("good"), kept, std::filesystem::copy_options::recursive);
  const Outcome near = redraft({"compare", kept, latest("good"), "--within", "1e-6"});
  EXPECT_EQ(near.code, 0) << near.err;
  expectPart(near.out, "first step: at most 0 apart, within 1e-06");
  EXPECT_EQ(redraft({"compare", kept, latest("good"), "--within", "-1"}).code, 2);
}

TEST_F(CliTest, ADoctorSaysWhatIsMissing) {
  const Outcome doctor = redraft({"doctor", "--scenarios", folder_.root(), "--runner", "/nonexistent"});
  EXPECT_EQ(doctor.code, 3);
  expectPart(doctor.out, "MISSING");
  expectPart(doctor.out, "remedy: build it");
  for (const char* row : {"cuda driver", "cuda capture", "cuda compiler", "cuda libtorch"}) expectPart(doctor.out, row);
}

TEST_F(CliTest, InterruptingASuiteLeavesAWholeRecordWithAbortedCases) {
  scenario("slow", "[\"begin\", \"march\"]", "PASSED", "");
  scenario("slower", "[\"begin\", \"march\"]", "PASSED", "");
  Program program(folder_.root(), {"run", "--scenarios", folder_.root(), "--runner", kFakeRunner, "--out",
                                   folder_.root() + "/runs", "--jobs", "1", "--json", "slow", "slower"});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!fileExists(latest("slow") + "/events.jsonl") && std::chrono::steady_clock::now() < until)
    program.endsWithin(std::chrono::milliseconds(5));
  ::kill(program.pid(), SIGINT);
  EXPECT_EQ(program.wait(), 130);
  const Json json = Json::parse(program.out());
  EXPECT_EQ(json["complete"], false);
  ASSERT_EQ(json["cases"].size(), 2u);
  for (const Json& each : json["cases"]) EXPECT_EQ(each["verdict"], "ABORTED");
}

TEST_F(CliTest, SaysItsVersionWithTheCommit) {
  const Outcome version = redraft({"--version"});
  EXPECT_EQ(version.code, 0);
  expectPart(version.out, "(commit ");
}

}  // namespace
}  // namespace redraft::scenarios
