// Pages of whole suites, over the fake runner.
#include "harness/page/page.h"

#include <gtest/gtest.h>

#include <fstream>

#include "harness/suite.h"
#include "reports/printers.h"
#include "tests/harness/fake_case.h"

namespace redraft::harness {
namespace {

const std::vector<std::string> kGood = {"begin", "train", "files", "end completed"};

class SuitePageTest : public ::testing::Test {
 protected:
  SuitePageTest() : plans_({fakePlan(kGood, "good"), fakePlan({"begin", "signal 11"}, "crash")}) {
    page_.planOf = [this](const reports::CaseResult& result) -> std::optional<CasePlan> {
      for (const CasePlan& plan : plans_)
        if (plan.name == result.name) return plan;
      return std::nullopt;
    };
  }

  reports::SuiteResult run() const {
    SuiteOptions options;
    options.out = folder_.path() + "/runs";
    options.cases.supervisor = fakeSupervisor();
    return runSuite(plans_, options);
  }

  TemporaryFolder folder_;
  std::vector<CasePlan> plans_;
  PageOptions page_;
};

TEST_F(SuitePageTest, EveryPartIsThereOrSaysWhyNot) {
  const reports::SuiteResult suite = run();
  const reports::PageDetails details = pageDetails(suite, page_);
  ASSERT_EQ(details.cases.size(), 2u);
  const reports::CaseDetails& good = details.cases.at("good");
  ASSERT_TRUE(good.curves.has_value());
  EXPECT_EQ(good.curves->steps.size(), 3u);
  EXPECT_TRUE(good.environment.has_value());
  for (const auto& [name, each] : details.cases) {
    const bool has[] = {each.curves.has_value(),     each.gradients.has_value(), each.throughput.has_value(),
                        each.timeline.has_value(),   each.affinity.has_value(),  each.environment.has_value(),
                        each.attribution.has_value()};
    const char* keys[] = {reports::part::kCurves,     reports::part::kGradients, reports::part::kThroughput,
                          reports::part::kTimeline,   reports::part::kAffinity,  reports::part::kEnvironment,
                          reports::part::kAttribution};
    for (int i = 0; i < 7; ++i) EXPECT_TRUE(has[i] || each.notices.contains(keys[i])) << name << ": " << keys[i];
  }
  EXPECT_FALSE(details.cases.at("crash").curves.has_value());
  EXPECT_TRUE(details.cases.at("crash").ending.has_value());
}

TEST_F(SuitePageTest, TheEnvironmentSaysHowManyProcessesARunWasSharedOutTo) {
  const auto processesOf = [this] {
    const reports::PageDetails details = pageDetails(run(), page_);
    for (const reports::EnvironmentRow& row : details.cases.at("good").environment->rows)
      if (row.key == "processes") return row.run;
    return std::string("none");
  };
  plans_.resize(1);
  EXPECT_EQ(processesOf(), "1");
  plans_[0].processes = 2;
  EXPECT_EQ(processesOf(), "2");
}

TEST_F(SuitePageTest, FilesThatAreGoneOrBrokenAreNoticesNotErrors) {
  const reports::SuiteResult suite = run();
  std::filesystem::remove_all(suite.cases[1].runFolder);
  std::ofstream(suite.cases[0].runFolder + "/metrics.jsonl") << "{\"schema\": 7";
  std::ofstream(suite.cases[0].runFolder + "/events.jsonl") << "nonsense\n";
  std::ofstream(suite.cases[0].runFolder + "/environment.json") << "[";
  const reports::PageDetails details = pageDetails(suite, page_);
  const reports::CaseDetails& good = details.cases.at("good");
  EXPECT_FALSE(good.curves.has_value());
  EXPECT_FALSE(good.environment.has_value());
  EXPECT_NE(good.notices.at(reports::part::kCurves).find("metrics.jsonl"), std::string::npos);
  EXPECT_NE(details.cases.at("crash").notices.at(reports::part::kCurves).find("no run folder"), std::string::npos);
}

TEST_F(SuitePageTest, BeyondTheLimitTheCasesThatNeedLookingAtHaveDetails) {
  const reports::SuiteResult suite = run();
  page_.limits.cases = 1;
  const reports::PageDetails details = pageDetails(suite, page_);
  EXPECT_TRUE(details.cases.contains("crash"));
  EXPECT_EQ(details.cases.size(), 1u);
  EXPECT_NE(details.notice.find("1 of 2 cases"), std::string::npos);
}

TEST_F(SuitePageTest, TheTrendHoldsTheSuitesBesideItTheOldestFirst) {
  const reports::SuiteResult first = run(), second = run();
  makeDirectories(folder_.path() + "/runs/0-broken");
  std::ofstream(folder_.path() + "/runs/0-broken/suite.jsonl") << "no suite\n";
  const reports::Trend trend = pageDetails(second, page_).trend;
  ASSERT_EQ(trend.suites.size(), 2u);
  EXPECT_EQ(trend.suites[0].started, first.started);
  EXPECT_EQ(trend.cases.at("crash").verdicts, (std::vector<std::string>{"CRASHED", "CRASHED"}));
  EXPECT_EQ(trend.cases.at("good").expected, (std::vector<bool>{true, true}));
  EXPECT_NE(trend.note.find("1 older suite could not be read"), std::string::npos);
  EXPECT_EQ(pageDetails(first, page_).trend.suites.size(), 1u) << "newer suites are not its past";
}

TEST_F(SuitePageTest, APageLiesInTheSuitesFolderFromTheStartAndIsReplacedWhole) {
  const reports::SuiteResult suite = run();
  const std::string path = suite.folder + "/report.html";
  EXPECT_EQ(readFile(path), reports::printHtml(suite)) << "while it runs, of the result model alone";
  writePages({path, folder_.path() + "/copy.html"}, suite, page_);
  EXPECT_EQ(readFile(path), readFile(folder_.path() + "/copy.html"));
  EXPECT_NE(readFile(path).find("\"first_loss\""), std::string::npos);
  EXPECT_NE(readFile(path), reports::printHtml(suite));
}

}  // namespace
}  // namespace redraft::harness
