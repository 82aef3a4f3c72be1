// `redraft bench` as a user meets it, over the fake runner, whose steps take as long as its scenario says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "harness/bench/bench.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

using golden::ThroughputVerdict;
using harness::BenchEnd;

class BenchCliTest : public ::testing::Test {
 protected:
  BenchCliTest() {
    makeDirectories(folder_.root() + "/data");
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
    timed("plain", "0.01");
    timed("slow", "0.0103");
    timed("slightly", "0.01002");
    scenario("crash", R"(["begin", "signal 11"])");
    scenario("march", R"(["begin", "march"])");
  }

  void scenario(const std::string& name, const std::string& script) const {
    folder_.write(name, ScenarioFolder::whole("\"training\": {\"steps\": 8}, \"golden\": false, \"fault\": {\"name\": "
                                              "\"script\", \"script\": " +
                                              script + "}"));
  }
  void timed(const std::string& name, const std::string& seconds, const std::string& more = "") const {
    scenario(name, R"(["begin", "seconds )" + seconds + "\", " + more + R"("train", "files", "end completed"])");
  }

  std::vector<std::string> arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"bench", "--scenarios", folder_.root(), "--out", out()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Outcome bench(std::vector<std::string> more) const {
    more.insert(more.end(), {"--runner", kFakeRunner});
    return runRedraft(folder_.root(), arguments(more));
  }
  Outcome benchBuilds(const std::vector<std::string>& more) const {
    return runRedraft(folder_.root(), arguments(more));
  }

  std::string out() const { return folder_.root() + "/runs"; }
  /// Of the only bench.
  std::string record() const {
    for (const auto& entry : std::filesystem::directory_iterator(out()))
      if (entry.is_directory()) return entry.path().string();
    return "";
  }
  harness::BenchReport report() const { return harness::loadBench(record() + "/" + harness::kBenchFile); }

  ScenarioFolder folder_;
};

void expectPart(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

TEST_F(BenchCliTest, ASlowerScenarioExitsWithOneAndKeepsEverySample) {
  const Outcome outcome = bench({"plain", "slow", "--seed", "5", "--pairs", "24", "--apart"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  expectPart(outcome.out, "SLOWER: B takes 1.0300 [1.0300, 1.0300] times as long as A (+3.00 %; seconds a step, 99 %");
  expectPart(outcome.out, " pairs of runs)\n");
  expectPart(outcome.out, "not confirmed in cycles: ");
  expectPart(outcome.out, "numbers: the same bit for bit on both sides");
  const harness::BenchReport report = this->report();
  EXPECT_EQ(report.end, BenchEnd::kDecided);
  EXPECT_EQ(report.verdict, ThroughputVerdict::kSlower);
  ASSERT_GE(report.pairs.size(), 12u);
  int aFirst = 0;
  for (const harness::BenchPair& pair : report.pairs) {
    EXPECT_EQ(pair.a.seconds, std::vector<double>(8, 0.01));
    EXPECT_EQ(pair.b.tokens, std::vector<double>(8, 128));
    EXPECT_EQ(pair.order == "AB", pair.a.startSeconds < pair.b.startSeconds);
    aFirst += pair.order == "AB" ? 1 : 0;
  }
  EXPECT_GT(aFirst, 0);
  EXPECT_LT(aFirst, static_cast<int>(report.pairs.size()));
  EXPECT_FALSE(fileExists(record() + "/pair-1-a"));
}

TEST_F(BenchCliTest, BothRunAtOnceByTurns) {
  const Outcome outcome = bench({"plain", "slow", "--seed", "5", "--pairs", "12"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  expectPart(outcome.out, "SLOWER: B takes 1.0300 [1.0300, 1.0300] times as long as A (+3.00 %; seconds a step, 99 %");
  expectPart(outcome.out, " 12 pairs of runs by turns of 4 steps)\n");
  const harness::BenchReport report = this->report();
  EXPECT_EQ(report.options.turn, 4);
  EXPECT_EQ(report.options.warmup, 2);
  for (const harness::BenchPair& pair : report.pairs) {
    EXPECT_EQ(pair.a.seconds.size(), 2u + 16 * 4 + 1) << "16 turns, and a step in which the run ends";
    EXPECT_EQ(pair.b.seconds.size(), pair.a.seconds.size());
  }
}

TEST_F(BenchCliTest, TurnsAlternateAndNeitherWorksInTheOthers) {
  ASSERT_EQ(bench({"plain", "plain", "--pairs", "12", "--turn", "3", "--steps", "24", "--warmup", "2"}).code, 0);
  std::string steps = readFile(record() + "/turns.txt");  // who did each, in the order in which they began
  constexpr std::size_t kOfPair = 2 * 24, kWarmup = 2 * 2, kTurns = 2 * 7;
  ASSERT_EQ(steps.size(), 13 * kOfPair);
  for (; !steps.empty(); steps.erase(0, kOfPair)) {
    const std::string first(3, steps[kWarmup]), second(3, first[0] == 'a' ? 'b' : 'a');
    for (std::size_t i = 0; i < kTurns; ++i)
      EXPECT_EQ(steps.substr(kWarmup + 3 * i, 3), i % 2 == 0 ? first : second) << steps.substr(0, kOfPair);
  }
}

TEST_F(BenchCliTest, WhoWaitsForTheOthersStartDoesNotHang) {
  const std::string script =
      R"("mark p", "pause 300", "mark p", "pause 300", "mark p", "pause 300", "mark p", "pause 300", )"
      R"("mark p", "pause 300", "mark p", "pause 300", )";
  for (const auto& [name, before] : {std::pair{"prompt", std::string()}, {"late", script}})
    folder_.write(name,
                  ScenarioFolder::whole(R"("training": {"steps": 8}, "golden": false, "limits": {"hang_seconds": 1},
      "fault": {"name": "script", "script": ["begin", )" +
                                        before + R"("seconds 0.01", "train", "files", "end completed"]})"));
  EXPECT_EQ(bench({"prompt", "late", "--budget", "0.05"}).code, 1);
  EXPECT_EQ(report().end, BenchEnd::kBudget) << report().problem;
  EXPECT_TRUE(report().first);
}

TEST_F(BenchCliTest, OneThatFailsWhileTheOtherWaitsForItsTurnEndsTheBench) {
  scenario("stops", R"(["begin", "pause 300", "signal 11"])");
  const Outcome outcome = bench({"plain", "stops"});
  EXPECT_EQ(outcome.code, 1);
  expectPart(outcome.out, "AMBIGUOUS: B: the run did not complete: signal 11 (SIGSEGV)");
  EXPECT_EQ(report().end, BenchEnd::kFailed);
}

TEST_F(BenchCliTest, ABuildThatKnowsNoTurnsIsNamedAndCanBeRunApart) {
  const std::string program = folder_.root() + "/redraft-runner";
  writeFileAtomically(program, std::string("#!/bin/sh\n[ \"$3\" = --turns ] && echo '--turns: not known' && exit 2\n[ "
                                           "\"$4\" = --turns ] && echo '--turns: not known' && exit 2\nexec ") +
                                   kFakeRunner + " \"$@\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Outcome outcome = benchBuilds({kFakeRunner, program, "--scenario", "plain", "--pairs", "12"});
  EXPECT_EQ(outcome.code, 1);
  expectPart(outcome.out, "(an older build: --apart)");
  std::filesystem::remove_all(out());
  EXPECT_EQ(benchBuilds({kFakeRunner, program, "--scenario", "plain", "--pairs", "12", "--apart"}).code, 0);
}

TEST_F(BenchCliTest, LeavesAPageWhichReportMakesAgain) {
  ASSERT_EQ(bench({"plain", "slow", "--seed", "5", "--pairs", "12"}).code, 1);
  const std::string page = readFile(record() + "/report.html");
  expectPart(page, "<title>Redraft: SLOWER, plain and slow</title>");
  const Outcome again = runRedraft(folder_.root(), {"report", record(), "--html", folder_.root() + "/again.html"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(readFile(folder_.root() + "/again.html"), page);
  EXPECT_EQ(runRedraft(folder_.root(), {"report", record(), "--against", record()}).code, 2);
}

TEST_F(BenchCliTest, FasterAndSameExitWithZero) {
  const Outcome faster = bench({"slow", "plain", "--json", "--pairs", "12"});
  EXPECT_EQ(faster.code, 0) << faster.err;
  EXPECT_EQ(Json::parse(faster.out)["verdict"], "FASTER");
  const Outcome same = bench({"plain", "slightly", "--pairs", "12", "--keep"});
  EXPECT_EQ(same.code, 0) << same.err;
  expectPart(same.out, "SAME: B takes 1.0020");
  EXPECT_EQ(bench({"plain", "slightly", "--pairs", "12", "--margin", "0.1"}).code, 1);
}

TEST_F(BenchCliTest, ScenariosOfOtherSizesAreComparedByTheToken) {
  timed("double", "0.02", "\"tokens 256\", ");
  const Outcome outcome = bench({"plain", "double", "--pairs", "12"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expectPart(outcome.out, "SAME: B takes 1.0000");
  expectPart(outcome.out, "seconds a token");
  expectPart(outcome.out, "numbers: A's and B's differ");
}

TEST_F(BenchCliTest, ARunThatFailsEndsTheBenchAndIsKept) {
  const Outcome outcome = bench({"plain", "crash"});
  EXPECT_EQ(outcome.code, 1);
  expectPart(outcome.out, "AMBIGUOUS: B: the run did not complete: signal 11 (SIGSEGV)");
  EXPECT_EQ(report().end, BenchEnd::kFailed);
  EXPECT_TRUE(fileExists(record() + "/first-b/events.jsonl"));
}

TEST_F(BenchCliTest, ABudgetThatIsTooSmallIsAmbiguousAndSaysWhatIsNeeded) {
  const Outcome outcome = bench({"plain", "slow", "--budget", "0.01"});
  EXPECT_EQ(outcome.code, 1);
  if (report().reason.find("has room for") == std::string::npos) {  // a machine so fast that 12 pairs fit into 0.6 s
    EXPECT_FALSE(report().looks.empty());
    return;
  }
  expectPart(outcome.out, "and 12 are needed: --budget");
  EXPECT_EQ(report().end, BenchEnd::kBudget);
}

TEST_F(BenchCliTest, WrongArgumentsAreRefusedWithARemedy) {
  const auto refusal = [&](const std::vector<std::string>& more) {
    const Outcome outcome = bench(more);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    return outcome.err;
  };
  expectPart(refusal({"plain", "slo"}), "did you mean \"slow\"?");
  expectPart(refusal({folder_.root(), "slow"}), "add --scenario NAME");
  expectPart(refusal({"plain", "slow", "--steps", "8", "--warmup", "7", "--apart"}), "leave at least 3 that count");
  expectPart(refusal({"plain", "slow", "--steps", "6"}), "leave at least 5 that count");
  expectPart(refusal({"plain", "slow", "--turn", "2"}), "--turn");
  expectPart(refusal({"plain", "/no/such/file.json"}), "is not below");
  expectPart(refusal({kFakeRunner, kFakeRunner, "--scenario", "plain"}), "A and B are the programs already");
  expectPart(refusal({"plain"}), "is required");
  expectPart(refusal({"plain", "slow", "--pairs", "5"}), "--pairs");
  const Outcome noBuild = benchBuilds({kFakeRunner, folder_.root(), "--scenario", "plain"});
  EXPECT_EQ(noBuild.code, 2);
  expectPart(noBuild.err, "there is no program at " + folder_.root() + "/redraft-runner, ");
  EXPECT_FALSE(fileExists(out())) << "nothing may have run";
}

TEST_F(BenchCliTest, TwoBuildsRunOneScenario) {
  makeDirectories(folder_.root() + "/tree/build/bin");
  std::filesystem::copy_file(kFakeRunner, folder_.root() + "/tree/build/bin/redraft-runner");
  const Outcome outcome =
      benchBuilds({kFakeRunner, folder_.root() + "/tree", "--scenario", folder_.root() + "/files/plain.json", "--pairs",
                   "12", "--steps", "5", "--apart"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expectPart(outcome.out, "A and B are the same program and scenario");
  EXPECT_EQ(report().b.runner, folder_.root() + "/tree/build/bin/redraft-runner");
  EXPECT_EQ(report().b.scenario, "plain");
  EXPECT_EQ(report().pairs.front().b.seconds.size(), 5u);
  EXPECT_EQ(report().options.warmup, 2);
}

TEST_F(BenchCliTest, AProgramThatIsBuiltAnewMeanwhileIsNoMeasure) {
  const std::string program = folder_.root() + "/redraft-runner";
  writeFileAtomically(program, "#!/bin/sh\n[ \"$1\" = run ] && echo '#' >> \"$0\"\nexec " + kFakeRunner + " \"$@\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Outcome outcome = benchBuilds({kFakeRunner, program, "--scenario", "slow", "--pairs", "12"});
  EXPECT_EQ(outcome.code, 1);
  expectPart(outcome.out, "AMBIGUOUS: ");
  expectPart(outcome.out, "was built anew while the bench ran");
}

TEST_F(BenchCliTest, CtrlCLeavesARecordAndEndsTheChild) {
  std::vector<std::string> words = arguments({"march", "march", "--runner", kFakeRunner});
  Program program(folder_.root(), words);
  const std::string events = "/first-", marks = "/events.jsonl";
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto started = [&] {
    if (!fileExists(out()) || record().empty()) return false;
    return fileExists(record() + events + "a" + marks) || fileExists(record() + events + "b" + marks);
  };
  while (!started() && std::chrono::steady_clock::now() < until) ::usleep(2000);
  ::kill(program.pid(), SIGINT);
  ASSERT_TRUE(program.endsWithin(std::chrono::seconds(20)));
  EXPECT_EQ(program.wait(), 130);
  EXPECT_EQ(report().end, BenchEnd::kInterrupted);
  EXPECT_EQ(report().verdict, ThroughputVerdict::kAmbiguous);
  expectPart(program.out(), "AMBIGUOUS: it was interrupted");
}

TEST_F(BenchCliTest, AKilledBenchLeavesWhatItHadAndIsNeverTakenForAVerdict) {
  Program program(folder_.root(), arguments({"plain", "slow", "--pairs", "1000", "--runner", kFakeRunner}));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto pairs = [&] {
    const bool there = fileExists(out()) && !record().empty() && fileExists(record() + "/" + harness::kBenchFile);
    return there ? report().pairs.size() : 0;
  };
  while (pairs() < 2 && std::chrono::steady_clock::now() < until) ::usleep(2000);
  ::kill(program.pid(), SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  EXPECT_GE(pairs(), 2u);
  EXPECT_EQ(report().end, BenchEnd::kRunning);
  EXPECT_EQ(report().verdict, ThroughputVerdict::kAmbiguous);
}

}  // namespace
}  // namespace redraft::scenarios
