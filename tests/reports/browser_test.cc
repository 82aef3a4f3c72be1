// The HTML report in a real Chromium: browser/check_page.py says what is looked at.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "reports/html/page.h"
#include "reports/html/single_page.h"
#include "tests/harness/page/sample_records.h"
#include "tests/paths.h"
#include "tests/reports/sample_page.h"
#include "tests/support/command_output.h"

namespace redraft::reports {
namespace {

using testing_support::outputOf;

/// The one that REDRAFT_CHROMIUM names, else the first that is installed; "": none.
std::string chromium() {
  if (const char* named = std::getenv("REDRAFT_CHROMIUM"); named != nullptr) return named;
  for (const char* name : {"chromium", "google-chrome", "chromium-browser"})
    if (outputOf(std::string(name) + " --version").status == 0) return name;
  return "";
}

std::string runPage(const CaseDetails& details) {
  const Json data{{"name", kHostile}, {"about", "device 0: NVIDIA H200"}, {"details", recordToJson(details)}};
  return printSinglePage({single::kRun, "a run", "a run", data});
}

TEST(BrowserTest, ThePageOpensOfflineIsReachedByKeyboardAndDrawsEightDevicesOverTwoHundredSteps) {
  const std::string program = chromium();
  if (program.empty()) GTEST_SKIP() << "needs Chromium (package chromium, or REDRAFT_CHROMIUM)";
  const std::string folder = std::string(kBinaryFolder) + "/report-page", path = folder + "/report.html";
  makeDirectories(folder);
  const SamplePage sample = samplePage();
  writeFileAtomically(path, printPage(sample.suite, sample.details));
  // Looked at by the same script, which finds them beside the suite's.
  writeFileAtomically(folder + "/run.html", runPage(sample.details.cases.at("caught")));
  writeFileAtomically(folder + "/bench.html", harness::benchPage(testing_support::sampleBench()));
  writeFileAtomically(folder + "/divergence.html", harness::divergencePage(testing_support::sampleDivergence()));
  const auto seen = outputOf("python3 -B " + std::string(kSourceFolder) + "/tests/reports/browser/check_page.py '" +
                             program + "' '" + path + "' '" + folder + "'");
  EXPECT_EQ(seen.status, 0) << seen.text << "page and screenshots: " << folder;
  std::string figures;
  for (std::size_t at = seen.text.find("figure: "); at != std::string::npos; at = seen.text.find("figure: ", at + 1))
    figures += seen.text.substr(at, seen.text.find('\n', at) - at) + "\n";
  std::fputs(figures.c_str(), stdout);
  for (const char* shot : {"overview-light.png", "overview-dark.png", "case-light.png", "case-dark.png",
                           "run-light.png", "bench-light.png", "bench-dark.png", "divergence-light.png"})
    EXPECT_GT(std::filesystem::file_size(folder + "/" + shot), 10'000u) << shot;
}

}  // namespace
}  // namespace redraft::reports
