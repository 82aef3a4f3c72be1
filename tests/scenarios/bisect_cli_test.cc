// `redraft bisect` over a generated repository, with a tiny program in redraft's place.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "tests/scenarios/bisect_repository.h"
#include "tests/scenarios/program.h"

namespace redraft::scenarios {
namespace {

constexpr int kCulprit = 11;

std::vector<BisectCommit> slowFrom(int culprit) {
  std::vector<BisectCommit> commits(BisectRepository::kCommits);
  for (int i = culprit; i < BisectRepository::kCommits; ++i) commits[static_cast<std::size_t>(i)].speed = 17000;
  return commits;
}

std::vector<BisectCommit> failingFrom(int culprit) {
  std::vector<BisectCommit> commits(BisectRepository::kCommits);
  for (int i = culprit; i < BisectRepository::kCommits; ++i)
    commits[static_cast<std::size_t>(i)].finding = "replicas/drift";
  return commits;
}

/// Of `redraft bisect` in the repository: 0 to 16, with `more` before the scenario.
std::vector<std::string> argumentsFor(const BisectRepository& repository, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"bisect",
                                        repository.hash(0),
                                        repository.hash(BisectRepository::kCommits - 1),
                                        "--build",
                                        BisectRepository::kBuild,
                                        "--out",
                                        repository.file("records")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.insert(arguments.end(), {"--", "small", "--jobs", "1"});
  return arguments;
}

/// Programs take the repository from the working folder.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_;
};

Outcome bisect(const BisectRepository& repository, const std::vector<std::string>& more) {
  const InFolder here(repository.path());
  return runRedraft(repository.file("."), argumentsFor(repository, more));
}

void expectIn(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

/// The clone is gone, and the repository is as it was.
void expectUntouched(const BisectRepository& repository, const std::string& before) {
  EXPECT_EQ(repository.snapshot(), before);
  for (const auto& entry : std::filesystem::directory_iterator(repository.file("records")))
    EXPECT_FALSE(fileExists(entry.path().string() + "/tree")) << entry.path();
}

TEST(BisectTest, FindsAPlantedSlowdownAlthoughThreeRunsOfTenAreFlakes) {
  const BisectRepository repository(slowFrom(kCulprit), {22, 8});
  const std::string before = repository.snapshot();
  const Outcome outcome = bisect(repository, {"--throughput", "--misleading", "0.3", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["suspects"], Json{repository.hash(kCulprit)});
  EXPECT_EQ(report["margin"], 8);
  EXPECT_LT(report["error_rate"], 0.01 / 6);
  EXPECT_NEAR(report["plan"]["good_tokens_per_second"], 20000, 600);
  int misled = 0, died = 0;
  for (const Json& commit : report["commits"]) {
    EXPECT_EQ(commit["embedded_commit"], commit["commit"].get<std::string>().substr(0, 12));
    const bool bad = commit["answer"] == "bad";
    for (const Json& trial : commit["trials"]) {
      misled += trial["sign"] == (bad ? "good" : "bad") ? 1 : 0;
      died += trial["sign"] == "unusable" ? 1 : 0;
    }
  }
  EXPECT_GE(misled, 8) << "the runs did mislead";
  EXPECT_GE(died, 3) << "and some died";
  expectUntouched(repository, before);
}

TEST(BisectTest, FindsAPlantedFailureAndPrintsTheEvidence) {
  const BisectRepository repository(failingFrom(3), {30, 0});
  const std::string before = repository.snapshot();
  const Outcome outcome = bisect(repository, {"--misleading", "0.3"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  expectIn(outcome.out, "bad is: FAILED replicas/drift");
  expectIn(outcome.out, "first bad commit: " + repository.hash(3) + " Change number 3");
  expectIn(outcome.out, "→  bad     " + repository.hash(3).substr(0, 12));
  expectIn(outcome.out, "a lead of 8 runs is wrong 0.11 % of the time");
  expectUntouched(repository, before);
}

struct Unfit {
  const char *build, *reason;
};
class BisectSkipTest : public ::testing::TestWithParam<Unfit> {};

TEST_P(BisectSkipTest, PassesOverACommitThatCannotBeProvedToBeTheOneTested) {
  std::vector<BisectCommit> commits = failingFrom(kCulprit);
  commits[8].build = GetParam().build;  // git asks for it first
  const BisectRepository repository(commits, {});
  const std::string before = repository.snapshot();
  const Outcome outcome = bisect(repository, {"--misleading", "0", "--build-limit", "8", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["suspects"], Json{repository.hash(kCulprit)});
  int seen = 0;
  for (const Json& commit : report["commits"]) {
    if (commit["commit"] != repository.hash(8)) continue;
    ++seen;
    EXPECT_EQ(commit["answer"], "skipped");
    expectIn(commit["reason"], GetParam().reason);
    EXPECT_TRUE(commit["trials"].empty()) << "it was not run";
  }
  EXPECT_EQ(seen, 1) << outcome.err;
  expectUntouched(repository, before);
}

INSTANTIATE_TEST_SUITE_P(Builds, BisectSkipTest,
                         ::testing::Values(Unfit{"fails", "the build exited 1"},
                                           Unfit{"slow", "the build took too long"},
                                           Unfit{"stale", "build/bin/redraft is not of this commit"},
                                           Unfit{"dirty", "-dirty"},
                                           Unfit{"runner", "redraft-runner is not of this commit"}),
                         [](const auto& parameter) { return std::string(parameter.param.build); });

TEST(BisectTest, SkippedCommitsThatHideTheCulpritLeaveSeveralSuspects) {
  std::vector<BisectCommit> commits = failingFrom(kCulprit);
  commits[kCulprit - 1].build = "fails";
  const BisectRepository repository(commits, {});
  const Outcome outcome = bisect(repository, {"--misleading", "0"});
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  expectIn(outcome.out, "the first bad commit is one of 2, because skipped ones hide it:");
  expectIn(outcome.out, repository.hash(kCulprit));
  expectIn(outcome.out, repository.hash(kCulprit - 1));
}

TEST(BisectTest, ACommitThatFailsOtherwiseIsNeitherGoodNorBad) {
  std::vector<BisectCommit> commits = failingFrom(kCulprit);
  for (int i = 5; i <= 8; ++i) commits[static_cast<std::size_t>(i)].finding = "mask/other-device";
  const BisectRepository repository(commits, {});
  const Outcome outcome = bisect(repository, {"--misleading", "0.05", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["suspects"], Json{repository.hash(kCulprit)});
  expectIn(outcome.out, "most runs say neither: FAILED mask/other-device");
}

TEST(BisectTest, EndsThatAreNotAsClaimedAreRefused) {
  const BisectRepository fine(slowFrom(BisectRepository::kCommits), {});
  const Outcome passes = bisect(fine, {});
  EXPECT_EQ(passes.code, 1);
  expectIn(passes.out, "does not fail");
  const Outcome asFast = bisect(fine, {"--throughput", "--threshold", "0.9"});
  EXPECT_EQ(asFast.code, 1);
  expectIn(asFast.out, "the bad commit is not shown to be bad");
  const BisectRepository always(failingFrom(0), {});
  const Outcome fails = bisect(always, {});
  EXPECT_EQ(fails.code, 1);
  expectIn(fails.out, "the good commit is not shown to be good");
}

TEST(BisectTest, BadRevisionsAndOptionsAreRefusedAndLeaveNothing) {
  const BisectRepository repository(failingFrom(kCulprit), {});
  const std::string before = repository.snapshot();
  const InFolder here(repository.path());
  const std::string& head = repository.hash(BisectRepository::kCommits - 1);
  for (const auto& [arguments, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"bisect", "nowhere", head, "--", "small"}, "is no commit"},
           {{"bisect", head, repository.hash(0), "--", "small"}, "is no ancestor"},
           {{"bisect", head, head, "--", "small"}, "name two commits"},
           {{"bisect", repository.hash(0), head}, "scenario is required"},
           {{"bisect", repository.hash(0), head, "--threshold", "0.9", "--", "small"}, "needs --throughput"},
           {{"bisect", repository.hash(0), head, "--misleading", "0.5", "--", "small"}, "--misleading"}}) {
    std::vector<std::string> withOut = arguments;
    withOut.insert(withOut.begin() + 1, {"--out", repository.file("records")});
    const Outcome outcome = runRedraft(repository.file("."), withOut);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    expectIn(outcome.err, part);
  }
  expectUntouched(repository, before);
}

/// Whether a process other than this one has `text` in its command line.
bool isNamedByAProcess(const std::string& text) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

/// A zombie, which waits for whoever adopted it, is not.
bool isRunning(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end = stat.rfind(") ");
  return end != std::string::npos && stat[end + 2] != 'Z';
}

bool isWritten(const std::string& file) { return fileExists(file) && readFile(file).ends_with('\n'); }

class BisectSignalTest : public ::testing::TestWithParam<int> {};

TEST_P(BisectSignalTest, LeavesTheRepositoryAsItWas) {
  std::vector<BisectCommit> commits = failingFrom(kCulprit);
  commits[8].build = "slow";
  const BisectRepository repository(commits, {});
  const std::string before = repository.snapshot(), marker = repository.file("marker");
  ::setenv("MARKER", marker.c_str(), 1);
  const InFolder here(repository.path());
  Program program(repository.file("."), argumentsFor(repository, {"--misleading", "0"}));
  for (int i = 0; i < 600 && !isWritten(marker); ++i) ASSERT_FALSE(program.endsWithin(std::chrono::milliseconds(100)));
  ASSERT_TRUE(isWritten(marker)) << program.err();
  const pid_t built = std::stoi(readFile(marker));
  ASSERT_TRUE(isRunning(built)) << "the build";
  ::kill(program.pid(), GetParam());
  ASSERT_TRUE(program.endsWithin(std::chrono::seconds(20)));
  EXPECT_EQ(program.wait(), GetParam() == SIGKILL ? 128 + SIGKILL : 130);
  if (GetParam() == SIGKILL) {
    EXPECT_EQ(repository.snapshot(), before);
    // What it started notices, and ends too.
    for (int i = 0; i < 200 && isNamedByAProcess(repository.file("records")); ++i) ::usleep(100'000);
  } else {
    expectIn(program.out(), "no culprit: interrupted");
    expectUntouched(repository, before);
  }
  EXPECT_FALSE(isNamedByAProcess(repository.file("records")));
  EXPECT_FALSE(isRunning(built)) << "the build outlives what started it";
}

INSTANTIATE_TEST_SUITE_P(Signals, BisectSignalTest, ::testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto& parameter) { return "Signal" + std::to_string(parameter.param); });

}  // namespace
}  // namespace redraft::scenarios
