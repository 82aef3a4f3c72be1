// SARIF, GitLab's code quality, GitHub's annotations and Google Benchmark's JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/text.h"
#include "reports/fingerprint.h"
#include "reports/issue.h"
#include "reports/layout.h"
#include "reports/printers.h"
#include "tests/reports/sample_suite.h"

namespace redraft::reports {
namespace {

/// The fault was not asked for: two findings, and a crash that has none.
SuiteResult failingSuite() {
  SuiteResult suite = sampleSuite();
  for (CaseResult& each : suite.cases) each.source = "scenarios/files/" + each.name + ".json";
  suite.cases[1].expected = {};
  return suite;
}

TEST(FingerprintTest, IsPinnedSinceTrackersKeepIt) {
  EXPECT_EQ(fingerprintOf("dual-drafter", sampleSuite().cases[1].findings[0]), "6ba4822e0c8d98f46f937fdb263ae65e");
  EXPECT_EQ(fingerprintOf("single-drafter", "verdict/crashed"), "555c888178eba7f189f546c14fb0871a");
}

TEST(FingerprintTest, TellsScenarioIdRoleAndPhaseApartAndNothingElse) {
  const Finding finding = sampleSuite().cases[1].findings[0];
  std::set<std::string> seen = {fingerprintOf("a", finding)};
  EXPECT_TRUE(seen.insert(fingerprintOf("b", finding)).second);
  for (const auto& change :
       std::vector<void (*)(Finding&)>{[](Finding& f) { f.id += "x"; }, [](Finding& f) { f.role = "target[1]"; },
                                       [](Finding& f) { f.phase = "backward"; }}) {
    Finding other = finding;
    change(other);
    EXPECT_TRUE(seen.insert(fingerprintOf("a", other)).second);
  }
  for (const auto& change : std::vector<void (*)(Finding&)>{
           [](Finding& f) { f.title = "x"; }, [](Finding& f) { f.step = 9; }, [](Finding& f) { f.device = 1; },
           [](Finding& f) { f.role = "drafter[5]"; }, [](Finding& f) { f.details = {"/tmp/x:17"}; },
           [](Finding& f) { f.evidence = {1}; }, [](Finding& f) { f.signature = "x"; }}) {
    Finding other = finding;
    change(other);
    EXPECT_FALSE(seen.insert(fingerprintOf("a", other)).second);
  }
}

TEST(IssueTest, OnlyWhatWasNotExpectedIsAnIssue) {
  EXPECT_TRUE(issuesOf(sampleSuite().cases[1]).empty()) << "a fault that was to be caught, and was";
  const SuiteResult suite = failingSuite();
  const std::vector<Issue> issues = issuesOf(suite);
  ASSERT_EQ(issues.size(), 3u);
  EXPECT_EQ(issues[0].id, "kernel-cache/shared-handle");
  EXPECT_EQ(issues[2].id, "verdict/crashed");
  EXPECT_EQ(issues[2].title, "CRASHED, expected PASSED: signal 11 (SIGSEGV), without run.end");
}

TEST(IssueTest, FindingsOfOneFingerprintAreOneIssueWithACount) {
  SuiteResult suite = failingSuite();
  suite.cases[1].findings.push_back(suite.cases[1].findings[0]);
  suite.cases[1].findings.back().role = "drafter[0]";
  const std::vector<Issue> issues = issuesOf(suite.cases[1]);
  ASSERT_EQ(issues.size(), 2u);
  EXPECT_EQ(issues[0].count, 2);
}

TEST(IssueTest, AFaultThatWasNotCaughtIsAnIssueOfItsVerdict) {
  CaseResult missed = sampleSuite().cases[0];
  missed.expected = {Verdict::kFailed, "replicas/drift"};
  const std::vector<Issue> issues = issuesOf(missed);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].id, "verdict/passed");
  EXPECT_EQ(issues[0].title, "PASSED, expected FAILED replicas/drift");
}

TEST(IssueTest, OneFingerprintNamesAFindingInEveryFormat) {
  const SuiteResult suite = failingSuite();
  const Json sarif = Json::parse(printSarif(suite))["runs"][0]["results"],
             gitlab = Json::parse(printCodeQuality(suite));
  const std::string junit = printJunit(suite), github = printAnnotations(suite), markdown = printMarkdown(suite);
  const Json json = Json::parse(printJson(suite));
  for (const Issue& issue : issuesOf(suite)) {
    const auto isIt = [&](const Json& each) { return each["fingerprint"] == issue.fingerprint; };
    EXPECT_EQ(std::count_if(gitlab.begin(), gitlab.end(), isIt), 1) << issue.id;
    const auto inSarif = [&](const Json& each) {
      return each["partialFingerprints"]["redraftFinding/v1"] == issue.fingerprint && each["ruleId"] == issue.id;
    };
    EXPECT_EQ(std::count_if(sarif.begin(), sarif.end(), inSarif), 1) << issue.id;
    for (const std::string& text : {junit, github, markdown, printConsole(suite), printJson(suite)})
      EXPECT_NE(text.find(issue.fingerprint), std::string::npos) << text;
  }
}

TEST(SarifTest, HoldsRulesLevelsPlacesAndNoPassedCase) {
  const Json run = Json::parse(printSarif(failingSuite()))["runs"][0];
  ASSERT_EQ(run["results"].size(), 3u);
  const Json& first = run["results"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"][first["ruleIndex"].get<std::size_t>()]["id"], first["ruleId"]);
  EXPECT_EQ(first["level"], "error");
  EXPECT_EQ(first["message"]["text"],
            "dual-drafter/shared-kernel-cache: kernel attention was loaded on device 6 and launched on device 7");
  EXPECT_EQ(first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "scenarios/files/dual-drafter/shared-kernel-cache.json");
  EXPECT_EQ(first["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
            "dual-drafter/shared-kernel-cache:drafter[1]");
  EXPECT_EQ(first["properties"]["replay"], "redraft replay 'runs/s/dual-drafter'");
  EXPECT_TRUE(run["invocations"][0]["executionSuccessful"].get<bool>());
}

TEST(SarifTest, ASuiteThatHasNotEndedSaysSo) {
  SuiteResult suite = failingSuite();
  suite.complete = false;
  EXPECT_FALSE(Json::parse(printSarif(suite))["runs"][0]["invocations"][0]["executionSuccessful"].get<bool>());
}

TEST(CodeQualityTest, HoldsWhatAMergeRequestShows) {
  const Json list = Json::parse(printCodeQuality(failingSuite()));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["check_name"], "kernel-cache/shared-handle");
  EXPECT_EQ(list[0]["severity"], "critical");
  EXPECT_EQ(list[0]["location"]["path"], "scenarios/files/dual-drafter/shared-kernel-cache.json");
  EXPECT_EQ(Json::parse(printCodeQuality(sampleSuite())).size(), 1u);
}

TEST(AnnotationsTest, EscapeWhatWouldEndTheLineOrAProperty) {
  SuiteResult suite = failingSuite();
  suite.cases = {suite.cases[2]};
  suite.cases[0].source = "a,b:c.json";
  suite.cases[0].reason = "50 %\nsecond line";
  const std::string text = printAnnotations(suite);
  EXPECT_EQ(text.find("::error file=a%2Cb%3Ac.json,line=1,title=single-drafter%3A verdict/crashed::CRASHED"), 0u)
      << text;
  EXPECT_NE(text.find("50 %25"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(AnnotationsTest, AreAtMostTenTheWorstFirstAndSayHowManyMoreThereAre) {
  SuiteResult suite = failingSuite();
  CaseResult skipped = suite.cases[2];
  skipped.verdict = Verdict::kSkipped;
  suite.cases.assign(6, skipped);
  suite.cases.resize(20, failingSuite().cases[2]);
  const std::vector<std::string> lines = split(printAnnotations(suite), '\n');
  ASSERT_EQ(lines.size(), kMaxAnnotations + 1) << "the last is empty";
  for (std::size_t i = 0; i < kMaxAnnotations; ++i) EXPECT_TRUE(lines[i].starts_with("::error ")) << lines[i];
  EXPECT_NE(lines[kMaxAnnotations - 1].find("::11 more"), std::string::npos) << lines[kMaxAnnotations - 1];
  suite.cases.resize(10);
  EXPECT_EQ(split(printAnnotations(suite), '\n').size(), kMaxAnnotations + 1);
  EXPECT_EQ(printAnnotations(suite).find("more;"), std::string::npos);
}

TEST(BenchmarkTest, GivesTheTimeATokenOfEachRoleOfPassedCasesAlone) {
  SuiteResult suite = sampleSuite();
  suite.cases[0].figures.tokensPerSecond = {{"all", 20000}, {"drafter[0]", 8000}, {"broken", 0}};
  suite.cases[1].figures.tokensPerSecond = {{"all", 1e9}};
  const Json rows = Json::parse(printBenchmark(suite))["benchmarks"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["name"], "dual-drafter");
  EXPECT_EQ(rows[0]["real_time"], 50000.0);
  EXPECT_EQ(rows[0]["time_unit"], "ns");
  EXPECT_EQ(rows[1]["name"], "dual-drafter/drafter[0]");
  EXPECT_EQ(rows[1]["items_per_second"], 8000.0);
  suite.cases[0].figures.tokensPerSecond = {{"all", std::numeric_limits<double>::infinity()}};
  EXPECT_TRUE(Json::parse(printBenchmark(suite))["benchmarks"].empty());
}

TEST(MarkdownTest, TenThousandCasesStayBelowTheLimitWithTheUnexpectedFirst) {
  SuiteResult suite = failingSuite();
  suite.cases.resize(10000, suite.cases[0]);
  suite.cases.push_back(failingSuite().cases[2]);
  suite.cases.back().name = "the-last-one";
  const std::string text = printMarkdown(suite);
  EXPECT_LT(text.size(), 1024u << 10);
  EXPECT_NE(text.find("| NOT | CRASHED | the-last-one |"), std::string::npos);
  EXPECT_NE(text.find("more cases in report.json"), std::string::npos);
}

TEST(LayoutTest, AUriOfAPathEscapesAllButPlainCharacters) {
  EXPECT_EQ(uriOfPath("a b/ü[1].json"), "a%20b/%C3%BC%5B1%5D.json");
  EXPECT_EQ(uriOfPath("/x/y"), "file:///x/y");
}

}  // namespace
}  // namespace redraft::reports
