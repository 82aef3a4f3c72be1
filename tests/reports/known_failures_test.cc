#include "reports/known_failures.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "reports/issue.h"
#include "reports/printers.h"
#include "tests/reports/sample_suite.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft::reports {
namespace {

using testing_support::expectBadInput;
using testing_support::TempFolder;

constexpr const char* kToday = "2026-11-29";

KnownFailure entryFor(const std::string& scenario, const std::string& finding) {
  return {scenario, finding, "", "@owner", "a reason", "2026-12-31"};
}

/// The caught fault, where nothing was expected: two findings.
CaseResult failing() {
  CaseResult result = sampleSuite().cases[1];
  result.expected = {};
  return result;
}

KnownFailureList bothFindings() {
  return {kKnownFailuresSchema,
          {entryFor("dual-drafter/*", "kernel-cache/shared-handle"), entryFor("dual-drafter/*", "affinity/host-sync")}};
}

TEST(KnownFailuresTest, ACaseIsKnownWhenEveryFindingIsCoveredAndNotBefore) {
  KnownFailureList list = bothFindings();
  CaseResult result = failing();
  markKnown(list, kToday, result);
  EXPECT_TRUE(result.isKnownFailure());
  EXPECT_EQ(result.known.size(), 2u);
  EXPECT_FALSE(result.asExpected()) << "a known failure is no pass";
  list.failures.pop_back();
  markKnown(list, kToday, result);
  EXPECT_FALSE(result.isKnownFailure()) << "the second finding is new";
}

TEST(KnownFailuresTest, AFingerprintCoversItsFindingWhateverItsStepDeviceOrWorker) {
  CaseResult result = failing();
  KnownFailureList list;
  for (const Issue& issue : issuesOf(result))
    list.failures.push_back({result.name, "", issue.fingerprint, "@owner", "a reason", "2026-12-31"});
  result.findings[0].step = 7;
  result.findings[0].device = 6;
  result.findings[0].role = "drafter[0]";
  result.findings[0].title = "other words";
  result.runFolder = "elsewhere";
  markKnown(list, kToday, result);
  EXPECT_TRUE(result.isKnownFailure());
  result.findings[0].phase = "backward";
  markKnown(list, kToday, result);
  EXPECT_FALSE(result.isKnownFailure()) << "another place is another finding";
}

TEST(KnownFailuresTest, AVerdictWithoutFindingsCanBeKnown) {
  CaseResult crashed = sampleSuite().cases[2];
  markKnown({kKnownFailuresSchema, {entryFor("single-drafter", "verdict/crashed")}}, kToday, crashed);
  EXPECT_TRUE(crashed.isKnownFailure());
  markKnown({kKnownFailuresSchema, {entryFor("single-drafter", "verdict/hung")}}, kToday, crashed);
  EXPECT_FALSE(crashed.isKnownFailure());
}

TEST(KnownFailuresTest, AnEntryHoldsThroughItsLastDayAndThenFailsTheSuite) {
  KnownFailureList list = bothFindings();
  for (KnownFailure& each : list.failures) each.expires = kToday;
  SuiteResult suite = sampleSuite();
  suite.cases = {failing()};
  markKnown(list, kToday, suite.cases[0]);
  suite.known = usesOf(list, kToday, suite);
  EXPECT_EQ(suite.known[0].state, KnownState::kMatched);
  EXPECT_TRUE(isGreen(suite));
  markKnown(list, "2026-11-30", suite.cases[0]);
  suite.known = usesOf(list, "2026-11-30", suite);
  EXPECT_EQ(suite.known[0].state, KnownState::kExpired);
  EXPECT_FALSE(suite.cases[0].isKnownFailure());
  EXPECT_FALSE(isGreen(suite));
  suite.cases = {sampleSuite().cases[0]};
  EXPECT_FALSE(isGreen(suite)) << "the entry alone fails it";
  EXPECT_NE(printJunit(suite).find("tests=\"3\" failures=\"2\""), std::string::npos) << printJunit(suite);
}

TEST(KnownFailuresTest, AnEntryThatMatchesNothingFailsOnlyWhenAskedTo) {
  SuiteResult suite = sampleSuite();
  suite.cases.resize(2);  // both as expected
  suite.known = usesOf(
      {kKnownFailuresSchema, {entryFor("dual-drafter", "replicas/drift"), entryFor("not-here", "replicas/drift")}},
      kToday, suite);
  EXPECT_EQ(suite.known[0].state, KnownState::kPasses);
  EXPECT_EQ(suite.known[1].state, KnownState::kNotRun);
  EXPECT_TRUE(isGreen(suite));
  EXPECT_FALSE(isGreen(suite, {false, false}));
  EXPECT_NE(printConsole(suite).find("known failure passes now, remove it: dual-drafter replicas/drift (owner @owner"),
            std::string::npos);
  suite.known.erase(suite.known.begin());
  EXPECT_TRUE(isGreen(suite, {false, false})) << "its scenario was not run: nothing can be said of it";
}

TEST(KnownFailuresTest, AnEntryWhoseScenarioFailsOtherwiseIsSaidToHaveMatchedNothing) {
  SuiteResult suite = sampleSuite();
  suite.cases = {failing()};
  suite.known = usesOf({kKnownFailuresSchema, {entryFor("*", "replicas/drift")}}, kToday, suite);
  EXPECT_EQ(suite.known[0].state, KnownState::kUnmatched);
  EXPECT_FALSE(isGreen(suite));
}

TEST(KnownFailuresTest, EveryFormatShowsAKnownFailureAsSuchAndNoneAsPassed) {
  SuiteResult suite = sampleSuite();
  suite.cases = {failing()};
  markKnown(bothFindings(), kToday, suite.cases[0]);
  suite.known = usesOf(bothFindings(), kToday, suite);
  EXPECT_NE(summaryLine(suite).find("0 as expected (1 FAILED), 1 known failure"), std::string::npos);
  EXPECT_NE(printConsole(suite).find("known  FAILED"), std::string::npos) << printConsole(suite);
  EXPECT_NE(printMarkdown(suite).find("| known | FAILED |"), std::string::npos);
  EXPECT_NE(printJunit(suite).find("failures=\"0\" errors=\"0\" skipped=\"1\""), std::string::npos);
  EXPECT_NE(
      printJunit(suite).find("<skipped message=\"known failure: dual-drafter/* kernel-cache/shared-handle (owner"),
      std::string::npos);
  EXPECT_EQ(Json::parse(printSarif(suite))["runs"][0]["results"][1]["suppressions"][0]["kind"], "external");
  EXPECT_EQ(Json::parse(printCodeQuality(suite))[0]["severity"], "info");
  EXPECT_EQ(printAnnotations(suite).find("::notice "), 0u) << printAnnotations(suite);
  const Json json = Json::parse(printJson(suite));
  EXPECT_EQ(json["cases"][0]["as_expected"], false);
  EXPECT_EQ(json["cases"][0]["known_failures"].size(), 2u);
  EXPECT_EQ(json["known_failures"][0]["state"], "matched");
}

std::string fileOf(const std::string& entry) {
  return R"({"schema": "redraft.known-failures/1", "failures": [)" + entry + "]}";
}

TEST(KnownFailuresTest, AFileIsReadAndABadEntryRefusedByLine) {
  const TempFolder folder;
  const std::string path = folder.file("known.json");
  const auto load = [&](const std::string& text) {
    writeFileAtomically(path, text);
    return loadKnownFailures(path);
  };
  const std::string head = R"({"scenario": "a/*", "owner": "@o", "reason": "r", )";
  EXPECT_EQ(load(fileOf("\n" + head + R"("finding": "x/y", "expires": "2028-02-29"})")).failures.at(0).finding, "x/y");
  for (const auto& [entry, part] : std::vector<std::pair<std::string, std::string>>{
           {head + R"("expires": "2026-12-31"})", "a finding or a fingerprint"},
           {head + R"("finding": "x", "fingerprint": "y", "expires": "2026-12-31"})", "one of the two"},
           {head + R"("finding": "x", "expires": "2026-02-29"})", "is no date"},
           {head + R"("finding": "x", "expires": "soon"})", "is no date"},
           {head + R"("finding": "x"})", "expires"},
           {head + R"("finding": "x", "expires": "2026-12-31", "untill": ""})", "untill"},
           {R"({"scenario": "a", "owner": " ", "reason": "r", "finding": "x", "expires": "2026-12-31"})",
            "looks after"},
           {R"({"scenario": "a", "owner": "o", "reason": "", "finding": "x", "expires": "2026-12-31"})", "borne"},
           {R"({"scenario": "", "owner": "o", "reason": "r", "finding": "x", "expires": "2026-12-31"})", "empty"}})
    expectBadInput([&, &text = entry] { load(fileOf("\n" + text)); }, {path, part});
  expectBadInput([&] { load(fileOf("\n" + head + R"("finding": "x", "expires": "never"})")); }, {":2: "});
  expectBadInput([&] { load(R"({"schema": "redraft.known-failures/2", "failures": []})"); }, {"expected the schema"});
  expectBadInput([&] { load("[]"); }, {"not a list of known failures"});
}

}  // namespace
}  // namespace redraft::reports
