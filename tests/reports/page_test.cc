// The HTML report as a document, without a browser; browser_test.cc opens it in one.
#include "reports/html/page.h"

#include <gtest/gtest.h>

#include <regex>

#include "base/json.h"
#include "reports/printers.h"
#include "tests/reports/sample_page.h"
#include "tests/reports/sample_suite.h"

namespace redraft::reports {
namespace {

constexpr std::size_t kMaxFrame = 1'500'000;  // bytes of a page without its data

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// What the element with the data holds, up to the first thing that would end it.
Json dataOf(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(open);
  if (at == std::string::npos) return nullptr;
  const std::size_t begin = at + open.size();
  return Json::parse(page.substr(begin, page.find("</script", begin) - begin));
}

TEST(PageTest, HoldsTheSuiteAndItsDetailsAsJson) {
  const SamplePage sample = samplePage();
  const Json data = dataOf(printPage(sample.suite, sample.details));
  EXPECT_EQ(data["schema"], kPageSchema);
  ASSERT_EQ(data["suite"]["cases"].size(), sample.suite.cases.size());
  EXPECT_EQ(data["suite"]["cases"][1]["findings"][0]["id"], "kernel-cache/shared-handle");
  EXPECT_EQ(data["suite"]["cases"][1]["shown"]["mark"], "ok");
  EXPECT_EQ(data["suite"]["cases"][3]["shown"]["mark"], "NOT");
  EXPECT_EQ(data["suite"]["green"], false);
  EXPECT_EQ(data["suite"]["summary"], summaryLine(sample.suite));
  const Json& wide = data["details"]["cases"]["wide"];
  EXPECT_EQ(wide["timeline"]["lanes"].size(), 9u);
  EXPECT_EQ(wide["timeline"]["lanes"][0]["gap"].size(), 6000u);
  EXPECT_FALSE(wide["curves"].contains("first_different"));
  EXPECT_EQ(data["details"]["cases"]["caught"]["curves"]["first_different"], 8);
}

TEST(PageTest, NoTextEndsTheElementThatItIsIn) {
  SamplePage harmless = samplePage(), hostile = samplePage();
  for (CaseResult& each : harmless.suite.cases)
    if (each.name.starts_with("hostile")) each.name = each.reason = each.description = "x", each.findings.clear();
  harmless.details.cases.erase("hostile" + kHostile);
  harmless.details.cases["hung"].notices.clear();
  harmless.details.trend.cases.clear();
  hostile.suite.version = hostile.suite.commit = hostile.suite.folder = kHostile;
  const std::string page = printPage(hostile.suite, hostile.details),
                    plain = printPage(harmless.suite, harmless.details);
  for (const char* tag : {"<script", "</script", "<img", "<!--", "<style", "</noscript", "</title"})
    EXPECT_EQ(count(page, tag), count(plain, tag)) << tag;
  EXPECT_EQ(dataOf(page)["suite"]["cases"][3]["reason"], kHostile)
      << "nothing is lost, and {{data}} is not filled again";
}

TEST(PageTest, BytesThatAreNoTextAreReplaced) {
  SamplePage sample = samplePage();
  sample.suite.cases[1].reason = std::string("bad \xff\xfe byte\0and more", 20);
  const Json data = dataOf(printPage(sample.suite, sample.details));
  EXPECT_NE(data["suite"]["cases"][1]["reason"].get<std::string>().find("\xef\xbf\xbd"), std::string::npos);
}

TEST(PageTest, WithoutItsDataItIsAtMostAMegabyteAndAHalf) {
  EXPECT_LE(pageFrameBytes(), kMaxFrame);
  EXPECT_GT(pageFrameBytes(), 200'000u) << "the library is in it";
}

TEST(PageTest, NothingIsLoadedFromAnywhere) {
  const SamplePage sample = samplePage();
  std::string page = printPage(sample.suite, sample.details);
  // Data is text, whatever is in it; the rest may name no place to load from.
  const std::size_t data = page.find("id=\"data\""), end = page.find("</script", data);
  page.erase(data, end - data);
  const std::size_t plain = page.find("<noscript>");
  page.erase(plain, page.find("</noscript>") - plain);
  const std::regex loads(
      R"re((\ssrc\s*=\s*["'])|(href\s*=\s*["'](?!#|data:,))|(url\()|(@import)|(\bfetch\()|(XMLHttpRequest)|(WebSocket)|(EventSource)|(importScripts)|(sendBeacon))re");
  std::smatch found;
  EXPECT_FALSE(std::regex_search(page, found, loads))
      << found.str() << " at " << page.substr(static_cast<std::size_t>(found.position()), 80);
  EXPECT_NE(page.find("Content-Security-Policy\" content=\"default-src 'none';"), std::string::npos);
}

TEST(PageTest, ThePolicyNamesOneHashForEachScriptAndTheStyle) {
  const std::string page = printPage({}, {});
  const std::string policy =
      page.substr(page.find("script-src"), page.find("\">", page.find("script-src")) - page.find("script-src"));
  EXPECT_EQ(count(policy, "'sha256-"), count(page, "<script>")) << policy;
  EXPECT_EQ(count(page, "unsafe-inline"), 0u);
  EXPECT_TRUE(std::regex_search(policy, std::regex("'sha256-[A-Za-z0-9+/]{43}='")));
}

TEST(PageTest, KeepsTheLibrarysLicence) {
  const std::string page = printPage({}, {});
  EXPECT_NE(page.find("Chart.js v3"), std::string::npos);
  EXPECT_NE(page.find("Permission is hereby granted, free of charge"), std::string::npos);
}

TEST(PageTest, ASuiteThatHasNotEndedNeverLooksPassed) {
  SuiteResult suite = sampleSuite();
  suite.complete = false;
  for (CaseResult& each : suite.cases) each.verdict = Verdict::kAborted, each.findings.clear();
  const std::string page = printHtml(suite);
  const Json data = dataOf(page);
  EXPECT_EQ(data["suite"]["complete"], false);
  EXPECT_EQ(data["suite"]["green"], false);
  for (const Json& each : data["suite"]["cases"]) EXPECT_EQ(each["shown"]["mark"], "NOT");
  EXPECT_NE(page.find("ABORTED"), page.find("id=\"data\"")) << "the text form says it too";
  EXPECT_FALSE(data["details"]["notice"].get<std::string>().empty());
}

TEST(PageTest, APartThatIsAbsentBringsItsReason) {
  const SamplePage sample = samplePage();
  const Json hung = dataOf(printPage(sample.suite, sample.details))["details"]["cases"]["hung"];
  for (const char* each : {"curves", "gradients", "throughput", "timeline", "attribution", "affinity", "environment"}) {
    EXPECT_FALSE(hung.contains(each));
    EXPECT_FALSE(hung["notices"][each].get<std::string>().empty()) << each;
  }
}

TEST(PageTest, RoundedKeepsAsManyDigitsAsItIsAskedFor) {
  EXPECT_EQ(rounded(1.0 / 3, 4), 0.3333);
  EXPECT_EQ(rounded(123456.7, 3), 123000);
  EXPECT_TRUE(std::isinf(rounded(HUGE_VAL, 3)));
}

}  // namespace
}  // namespace redraft::reports
