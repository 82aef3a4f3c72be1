#include "harness/suite.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "base/error.h"
#include "harness/replay.h"
#include "reports/printers.h"
#include "tests/harness/fake_case.h"

namespace redraft::harness {
namespace {

using reports::Verdict;

const std::vector<std::string> kGood = {"begin", "train", "files", "end completed"};

SuiteOptions optionsFor(const TemporaryFolder& folder) {
  SuiteOptions options;
  options.out = folder.path() + "/runs";
  options.jobs = 2;
  options.cases.supervisor = fakeSupervisor();
  return options;
}

TEST(SuiteTest, EveryPlannedCaseHasAResultInTheOrderOfThePlan) {
  const TemporaryFolder folder;
  const std::vector<CasePlan> plans = {fakePlan(kGood, "a"), fakePlan({"begin", "signal 11"}, "b/c"),
                                       fakePlan({"begin", "exception x", "end failed"}, "d")};
  const reports::SuiteResult suite = runSuite(plans, optionsFor(folder));
  ASSERT_EQ(suite.cases.size(), 3u);
  EXPECT_TRUE(suite.complete);
  EXPECT_EQ(suite.cases[0].verdict, Verdict::kPassed) << suite.cases[0].reason;
  EXPECT_EQ(suite.cases[1].verdict, Verdict::kCrashed);
  EXPECT_EQ(suite.cases[2].verdict, Verdict::kFailed);
  EXPECT_EQ(suite.cases[1].name, "b/c");
  EXPECT_TRUE(fileExists(suite.folder + "/b.c/result.json"));
}

TEST(SuiteTest, ACaseIsGivenAsAMultipleOfAnotherThatPassedBeforeIt) {
  const TemporaryFolder folder;
  SuiteOptions options = optionsFor(folder);
  options.jobs = 1;
  std::vector<CasePlan> plans = {fakePlan(kGood, "one"), fakePlan(kGood, "two"), fakePlan({"exit 5"}, "broken"),
                                 fakePlan(kGood, "of-broken")};
  plans[1].scalingOf = "one";
  plans[3].scalingOf = "broken";
  const reports::SuiteResult suite = runSuite(plans, options);
  ASSERT_TRUE(suite.cases[1].figures.pace.scaling.has_value());
  EXPECT_EQ(suite.cases[1].figures.pace.scaling->of, "one");
  EXPECT_DOUBLE_EQ(suite.cases[1].figures.pace.scaling->ratio, 1.0);
  EXPECT_FALSE(suite.cases[0].figures.pace.scaling.has_value());
  EXPECT_FALSE(suite.cases[3].figures.pace.scaling.has_value());
}

TEST(SuiteTest, TheRecordOnTheDiskIsTheResult) {
  const TemporaryFolder folder;
  SuiteOptions options = optionsFor(folder);
  const std::string junit = folder.path() + "/j.xml";
  options.files = {{reports::findFormat("junit"), junit}};
  const reports::SuiteResult suite = runSuite({fakePlan(kGood, "a"), fakePlan({"exit 5"}, "b")}, options);
  EXPECT_EQ(reports::printJson(loadSuite(suite.folder)), reports::printJson(suite));
  EXPECT_EQ(readFile(suite.folder + "/report.json"), reports::printJson(suite));
  EXPECT_EQ(readFile(junit), reports::printJunit(suite));
  EXPECT_TRUE(std::filesystem::equivalent(folder.path() + "/runs/latest", suite.folder));
}

TEST(SuiteTest, BeforeTheFirstCaseEndsTheReportsHoldAllCasesAsErrors) {
  const TemporaryFolder folder;
  reports::SuiteResult planned;
  planned.folder = folder.path();
  for (const char* name : {"a", "b"}) planned.cases.push_back(plannedResult(fakePlan(kGood, name), ""));
  const SuiteRecord record(planned, {});
  const std::string junit = readFile(folder.path() + "/junit.xml");
  EXPECT_NE(junit.find("tests=\"2\" failures=\"0\" errors=\"2\""), std::string::npos) << junit;
  const reports::SuiteResult read = loadSuite(folder.path());
  ASSERT_EQ(read.cases.size(), 2u);
  EXPECT_EQ(read.cases[1].verdict, Verdict::kAborted);
  EXPECT_FALSE(read.complete);
}

TEST(SuiteTest, ACaseThatEndedBeforeTheHarnessDiedKeepsItsVerdictAndTheOthersAreAborted) {
  const TemporaryFolder folder;
  reports::SuiteResult planned;
  planned.folder = folder.path();
  for (const char* name : {"a", "b"}) planned.cases.push_back(plannedResult(fakePlan(kGood, name), ""));
  {
    SuiteRecord record(planned, {});
    record.started(0);
    reports::CaseResult passed = planned.cases[0];
    passed.verdict = Verdict::kPassed;
    record.ended(0, passed);
    record.started(1);
  }
  std::ofstream(folder.path() + "/suite.jsonl", std::ios::app) << "{\"type\":\"ended\",\"index\":1,\"case\":{";  // torn
  const reports::SuiteResult read = loadSuite(folder.path());
  EXPECT_EQ(read.cases[0].verdict, Verdict::kPassed);
  EXPECT_EQ(read.cases[1].verdict, Verdict::kAborted);
}

TEST(SuiteTest, ASecondSuiteInTheSameFolderIsRefusedWhileTheFirstRuns) {
  const TemporaryFolder folder;
  const SuiteOptions options = optionsFor(folder);
  makeDirectories(options.out);
  const FileLock held(options.out + "/.lock", 0);
  try {
    runSuite({fakePlan(kGood)}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  }
}

TEST(SuiteTest, ShardsPartitionThePlan) {
  std::vector<CasePlan> plans;
  for (int i = 0; i < 7; ++i) plans.push_back(fakePlan(kGood, std::to_string(i)));
  std::multiset<std::string> names;
  for (const char* shard : {"1/3", "2/3", "3/3"})
    for (const CasePlan& plan : selectShard(plans, parseShard(shard))) names.insert(plan.name);
  EXPECT_EQ(names, (std::multiset<std::string>{"0", "1", "2", "3", "4", "5", "6"}));
  for (const char* bad : {"", "0/3", "4/3", "1", "1/0", "a/b", "1/2/3", "-1/2", "99999999/99999999"})
    EXPECT_THROW(parseShard(bad), Error) << bad;
}

TEST(SuiteTest, OldSuitesGoBeyondTheLimitAndKeptOnesStay) {
  const TemporaryFolder folder;
  SuiteOptions options = optionsFor(folder);
  options.prune.count = 2;
  std::vector<std::string> suites;
  for (int i = 0; i < 4; ++i) {
    options.keep = i == 0;
    suites.push_back(runSuite({fakePlan(kGood)}, options).folder);
  }
  makeDirectories(options.out + "/not-a-suite");
  pruneSuites(options.out, options.prune);
  EXPECT_TRUE(fileExists(suites[0])) << "kept";
  EXPECT_FALSE(fileExists(suites[1]));
  EXPECT_TRUE(fileExists(suites[2]));
  EXPECT_TRUE(fileExists(suites[3]));
  EXPECT_TRUE(fileExists(options.out + "/not-a-suite"));
}

TEST(SuiteTest, ASizeLimitNeverRemovesTheNewest) {
  const TemporaryFolder folder;
  const SuiteOptions options = optionsFor(folder);
  const std::string first = runSuite({fakePlan(kGood)}, options).folder;
  const std::string second = runSuite({fakePlan(kGood)}, options).folder;
  pruneSuites(options.out, {20, 1});
  EXPECT_FALSE(fileExists(first));
  EXPECT_TRUE(fileExists(second));
}

/// Runs in a process of its own whose files cannot grow beyond `bytes`, as on a full disk. Returns its exit code: 0
/// passed, 3 refused by the environment, 4 some other outcome.
int runOnFullDisk(const SuiteOptions& options, rlim_t bytes) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      const reports::SuiteResult suite = runSuite({fakePlan(kGood, "a"), fakePlan(kGood, "b")}, options);
      ::_exit(reports::isGreen(suite) ? 0 : 4);
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::kEnvironment ? 3 : 5);
    }
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int suitesIn(const std::string& out) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out))
    count += entry.is_directory() && !entry.is_symlink() ? 1 : 0;
  return count;
}

TEST(SuiteTest, OnAFullDiskNoCasePassesAndTheEnvironmentIsToBlame) {
  // Each limit is below the size of report.json, which names both cases.
  for (const rlim_t bytes : {rlim_t{1}, rlim_t{200}, rlim_t{1000}}) {
    const TemporaryFolder folder;
    const std::string before = runSuite({fakePlan(kGood)}, optionsFor(folder)).folder;
    const int code = runOnFullDisk(optionsFor(folder), bytes);
    EXPECT_TRUE(code == 3 || code == 4) << "limit " << bytes << ": " << code;
    const std::string latest = folder.path() + "/runs/latest", report = latest + "/report.json";
    const bool begun = suitesIn(folder.path() + "/runs") > 1;
    EXPECT_EQ(std::filesystem::equivalent(latest, before), !begun) << "limit " << bytes << ": passes for this one";
    if (!begun || !fileExists(report)) continue;
    for (const reports::CaseResult& each : reports::loadReport(report).cases)
      EXPECT_NE(each.verdict, Verdict::kPassed) << "limit " << bytes;
  }
}

TEST(ReplayTest, TheSameNumbersCountAsTheSameAndOthersDoNot) {
  const TemporaryFolder folder;
  const reports::CaseResult first = runFake(folder, fakePlan(kGood), "", "first");
  const reports::CaseResult same = runFake(folder, fakePlan(kGood), "", "same");
  const reports::CaseResult other =
      runFake(folder, fakePlan({"begin", "loss 9", "train", "files", "end completed"}), "", "other");
  EXPECT_TRUE(compareReplay(first, same).same);
  EXPECT_FALSE(compareReplay(first, other).same);
  EXPECT_FALSE(compareReplay(std::nullopt, same).same);
}

TEST(ReplayTest, TheSameSignatureCountsAsTheSameAndAnotherRoleDoesNot) {
  const TemporaryFolder folder;
  const std::vector<std::string> script = {"begin", "exception x", "end failed"};
  const reports::CaseResult first = runFake(folder, fakePlan(script), "", "first");
  reports::CaseResult second = runFake(folder, fakePlan(script), "", "second");
  EXPECT_TRUE(compareReplay(first, second).same);
  second.findings[0].signature = "exception/unattributed|exception|drafter[0]|1|drafter_forward|0";
  const ReplayResult other = compareReplay(first, second);
  EXPECT_FALSE(other.same);
  EXPECT_NE(other.text.find("drafter[0]"), std::string::npos);
  EXPECT_NE(other.text.find("drafter[1]"), std::string::npos);
}

}  // namespace
}  // namespace redraft::harness
