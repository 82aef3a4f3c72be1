// The pages of a bench and of a divergence as documents; BrowserTest opens them.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "tests/harness/page/sample_records.h"
#include "tests/support/temp_folder.h"

namespace redraft::harness {
namespace {

using testing_support::kMarkup;
using testing_support::sampleBench;
using testing_support::sampleDivergence;
using testing_support::TempFolder;

Json dataOf(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return Json::parse(page.substr(begin, page.find("</script", begin) - begin));
}

TEST(BenchPageTest, HoldsTheMediansThatTheVerdictRestsOnAndNoSamples) {
  const Json bench = dataOf(benchPage(sampleBench()))["bench"];
  ASSERT_EQ(bench["pairs"].size(), 32u);
  EXPECT_NEAR(bench["pairs"][0]["a"].get<double>(), 0.05, 1e-9) << "not the warm-up";
  EXPECT_EQ(bench["pairs"][0]["order"], "AB");
  EXPECT_EQ(bench["pairs"][3]["start_seconds"], 27);
  EXPECT_EQ(bench["pairs"][6]["excluded"], "B: thermal slowdown " + kMarkup);
  EXPECT_FALSE(bench["pairs"][7].contains("excluded"));
  EXPECT_EQ(bench["record"]["verdict"], "SLOWER");
  EXPECT_EQ(bench["record"]["looks"].size(), 2u);
  EXPECT_TRUE(bench["record"]["pairs"].empty());
}

TEST(BenchPageTest, OfABenchThatWasKilledBeforeItsFirstPairThereIsOneToo) {
  BenchReport report = sampleBench();
  report.end = BenchEnd::kRunning;
  report.pairs.clear();
  report.looks.clear();
  report.first.reset();
  const Json bench = dataOf(benchPage(report))["bench"];
  EXPECT_TRUE(bench["pairs"].empty());
  EXPECT_EQ(bench["record"]["end"], "running");
}

TEST(BenchPageTest, ABlockWithoutAClockHasNone) {
  BenchReport report = sampleBench();
  report.pairs[1].b.clockMhz.reset();
  EXPECT_EQ(dataOf(benchPage(report))["bench"]["pairs"][1]["clock_b"], "nan");
}

TEST(DivergencePageTest, HoldsTheRecordAndItsWords) {
  const DivergenceReport report = sampleDivergence();
  const std::string page = divergencePage(report);
  EXPECT_EQ(dataOf(page)["divergence"], recordToJson(report));
  EXPECT_NE(page.find("<title>Redraft: runs part in step 2</title>"), std::string::npos);
  EXPECT_NE(page.find("first operation: step 2, drafter[1], layers.0.mlp"), std::string::npos) << "without scripts";
}

TEST(DivergencePageTest, TheRecordIsReadAsItWasWritten) {
  const TempFolder folder;
  const Json json = recordToJson(sampleDivergence());
  writeFileAtomically(folder.file("d.json"), pretty(json));
  EXPECT_EQ(recordToJson(loadDivergence(folder.file("d.json"))), json);
  writeFileAtomically(folder.file("d.json"), pretty(recordToJson(sampleBench())));
  EXPECT_THROW(loadDivergence(folder.file("d.json")), Error);
}

TEST(RecordPageTest, NoTextEndsTheElementThatItIsIn) {
  for (const std::string& page : {benchPage(sampleBench()), divergencePage(sampleDivergence())}) {
    EXPECT_EQ(page.find(kMarkup), std::string::npos);
    EXPECT_EQ(page.find("<img"), std::string::npos);
  }
}

}  // namespace
}  // namespace redraft::harness
