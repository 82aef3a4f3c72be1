// The printers' output is pinned: whoever changes it changes these texts, on purpose.
#include "reports/printers.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "tests/reports/sample_suite.h"
#include "tests/support/temp_folder.h"

namespace redraft::reports {
namespace {

TEST(ConsoleTest, ShowsTheTableThenEveryFindingWithCauseEvidenceAndReplay) {
  EXPECT_EQ(printConsole(sampleSuite()),
            R"(     verdict  scenario                          steps     tokens/s    time  audit    finding
ok   PASSED   dual-drafter                         12  19.4 Ktok/s  1.50 s  2 clean
ok   FAILED   dual-drafter/shared-kernel-cache      –            –  0.75 s  A9       kernel-cache/shared-handle
NOT  CRASHED  single-drafter                        –            –       –  –        signal 11 (SIGSEGV), without run.end

  FAILED dual-drafter/shared-kernel-cache, as expected
    cause      kernel-cache/shared-handle: kernel attention was loaded on device 6 and launched on device 7
    where      drafter[1], step 0, drafter_forward, device 7
    details    one handle serves several devices
    evidence   events 212, 240
    ruled out  kernel-cache/device-not-passed: the call site passed device 7 (event 211)
    also       affinity/host-sync: wait 2 of step 3, of 1 allowed
    proof      A9: wait 2 of step 3, of 1 allowed
               trace/run.rdtrace record 17: api cuCtxSynchronize
    audit      found A9 host-sync (2); clean A1
    ended      exited 1
    run        runs/s/dual-drafter
    replay     redraft replay 'runs/s/dual-drafter'

  CRASHED single-drafter, but expected PASSED
    stable id  555c888178eba7f189f546c14fb0871a  verdict/crashed
    reason     signal 11 (SIGSEGV), without run.end
    audit      absent: the run ended before it wrote a trace
    ended      signal 11 (SIGSEGV)
    run        runs/s/dual-drafter
    replay     redraft replay 'runs/s/dual-drafter'

3 cases: 2 as expected (1 PASSED, 1 FAILED, 1 CRASHED), 1 not in 2.25 s
report: runs/s
)");
}

TEST(ConsoleTest, ColoursOnlyWhereAsked) {
  EXPECT_EQ(printConsole(sampleSuite()).find('\033'), std::string::npos);
  EXPECT_NE(printConsole(sampleSuite(), {true}).find("\033[32mok"), std::string::npos);
}

TEST(JunitTest, HasOneCaseAScenarioAndOnlyTheUnexpectedFails) {
  const std::string junit = printJunit(sampleSuite());
  EXPECT_NE(junit.find(R"(<testsuite name="redraft" tests="3" failures="1" errors="0" skipped="0" time="2.250" )"
                       R"(timestamp="2026-11-29T20:00:00Z">)"),
            std::string::npos)
      << junit;
  EXPECT_NE(junit.find(R"(  <testcase name="dual-drafter" classname="redraft" time="1.500">
    <system-out>  PASSED dual-drafter, as expected)"),
            std::string::npos)
      << junit;
  EXPECT_NE(junit.find(R"(  <testcase name="single-drafter" classname="redraft" time="0.000">
    <failure message="CRASHED, expected PASSED: signal 11 (SIGSEGV), without run.end" type="CRASHED">)"),
            std::string::npos)
      << junit;
}

TEST(JunitTest, ACaseThatHasNotEndedOrCouldNotRunIsAnErrorAndASkipIsSkipped) {
  SuiteResult suite = sampleSuite();
  suite.cases[0].verdict = Verdict::kAborted;
  suite.cases[1].verdict = Verdict::kError;
  suite.cases[2].verdict = Verdict::kSkipped;
  const std::string junit = printJunit(suite);
  EXPECT_NE(junit.find("failures=\"0\" errors=\"2\" skipped=\"1\""), std::string::npos) << junit;
  EXPECT_NE(junit.find("<skipped message=\"SKIPPED, expected PASSED"), std::string::npos) << junit;
}

TEST(JsonTest, ComesBackAsItWasWritten) {
  const testing_support::TempFolder folder;
  const std::string text = printJson(sampleSuite());
  writeFileAtomically(folder.file("report.json"), text);
  EXPECT_EQ(printJson(loadReport(folder.file("report.json"))), text);
  writeFileAtomically(folder.file("other.json"), R"({"schema": "redraft.report/2"})");
  EXPECT_THROW(loadReport(folder.file("other.json")), Error);
}

TEST(JsonTest, HoldsNameVerdictExpectationFindingRunFolderAndFigures) {
  const Json json = Json::parse(printJson(sampleSuite()));
  const Json& caught = json["cases"][1];
  EXPECT_EQ(caught["name"], "dual-drafter/shared-kernel-cache");
  EXPECT_EQ(caught["verdict"], "FAILED");
  EXPECT_EQ(caught["as_expected"], true);
  EXPECT_EQ(caught["expected"], (Json{{"verdict", "FAILED"}, {"finding", "kernel-cache/shared-handle"}}));
  EXPECT_EQ(caught["findings"][0]["evidence"], (Json{212, 240}));
  EXPECT_EQ(caught["run_folder"], "runs/s/dual-drafter");
  EXPECT_EQ(json["cases"][0]["figures"]["tokens_per_second"]["all"], 19400.0);
}

TEST(MarkdownTest, HasATableAndWhatWasNotExpectedFirst) {
  SuiteResult suite = sampleSuite();
  suite.cases[2].findings = suite.cases[1].findings;
  const std::string markdown = printMarkdown(suite);
  EXPECT_EQ(markdown.find("## Redraft: 3 cases: 2 as expected"), 0u);
  EXPECT_NE(markdown.find("| ok | PASSED | dual-drafter | 12 | 19.4 Ktok/s | 2.25 | 2 clean |  |\n"), std::string::npos)
      << markdown;
  EXPECT_LT(markdown.find("<details open><summary>single-drafter"),
            markdown.find("<details><summary>dual-drafter/shared-kernel-cache"));
}

TEST(MarkdownTest, StaysBelowTheSizeThatHostsDrop) {
  SuiteResult suite = sampleSuite();
  suite.cases[1].findings[0].details.assign(2000, std::string(100, 'x'));
  suite.cases.resize(40, suite.cases[1]);
  const std::string markdown = printMarkdown(suite);
  EXPECT_LT(markdown.size(), 1024u << 10);
  EXPECT_NE(markdown.find("more in report.json"), std::string::npos);
}

TEST(ExpectationTest, VerdictAndFirstFindingDecide) {
  CaseResult result = sampleSuite().cases[1];
  EXPECT_TRUE(result.asExpected());
  result.findings[0].id = "kernel-cache/device-not-passed";
  EXPECT_FALSE(result.asExpected()) << "another cause than the one expected";
  result.findings.clear();
  EXPECT_FALSE(result.asExpected());
  result.expected = {};
  EXPECT_FALSE(result.asExpected());
  result.verdict = Verdict::kPassed;
  EXPECT_TRUE(result.asExpected());
}

}  // namespace
}  // namespace redraft::reports
