// What is to be seen while a suite runs.
#include "harness/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace redraft::harness {
namespace {

/// A stream into memory.
class Screen {
 public:
  Screen() : file_(::open_memstream(&text_, &size_)) {}
  ~Screen() {
    std::fclose(file_);
    std::free(text_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

std::vector<CasePlan> twoPlans() {
  std::vector<CasePlan> plans(2);
  plans[0].name = "single-drafter";
  plans[0].steps = 12;
  plans[1].name = "dual-drafter";
  plans[1].steps = 8;
  return plans;
}

reports::CaseResult ended(const std::string& name, reports::Verdict verdict) {
  reports::CaseResult result;
  result.name = name;
  result.verdict = verdict;
  result.figures.seconds = 1.5;
  return result;
}

TEST(ProgressTest, TheStatusLineHasScenarioStepRateAndTimeLeft) {
  const std::vector<CasePlan> plans = twoPlans();
  Screen screen;
  ProgressDisplay display(screen.file(), false, plans);
  display.started(0);
  EXPECT_EQ(display.statusLine(0.1), "[0/2] single-drafter 0/12") << "nothing is known of the time yet";
  display.progressed(0, {6, 3000, 2.0});
  display.started(1);
  display.progressed(1, {4, 4000, 2.0});
  // 10 of 20 steps in 4 s; 1500 and 2000 tokens a second.
  EXPECT_EQ(display.statusLine(4), "[0/2] single-drafter 6/12, dual-drafter 4/8  3.5 Ktok/s  4.00 s left");
  display.ended(0, ended("single-drafter", reports::Verdict::kPassed));
  EXPECT_EQ(display.statusLine(8), "[1/2] dual-drafter 4/8  2.0 Ktok/s  2.00 s left");
}

TEST(ProgressTest, WhereThereIsNoTerminalOnlyEndedCasesArePrintedAndPlain) {
  const std::vector<CasePlan> plans = twoPlans();
  Screen screen;
  {
    ProgressDisplay display(screen.file(), false, plans);
    display.started(0);
    display.progressed(0, {6, 3000, 2.0});
    display.ended(0, ended("single-drafter", reports::Verdict::kPassed));
    display.started(1);
    display.ended(1, ended("dual-drafter", reports::Verdict::kCrashed));
  }
  EXPECT_EQ(screen.text(),
            "[1/2] PASSED single-drafter, 1.50 s\n"
            "[2/2] CRASHED dual-drafter, 1.50 s  NOT as expected\n");
}

TEST(ProgressTest, OfAFailureItSaysWhetherItWasExpectedOrKnown) {
  const std::vector<CasePlan> plans = twoPlans();
  Screen screen;
  ProgressDisplay display(screen.file(), false, plans);
  reports::CaseResult planted = ended("single-drafter", reports::Verdict::kHung);
  planted.expected.verdict = reports::Verdict::kHung;
  display.ended(0, planted);
  reports::CaseResult known = ended("dual-drafter", reports::Verdict::kFailed);
  known.known.emplace_back();
  display.ended(1, known);
  EXPECT_EQ(screen.text(),
            "[1/2] HUNG single-drafter, 1.50 s  as expected\n"
            "[2/2] FAILED dual-drafter, 1.50 s  a known failure\n");
}

TEST(ProgressTest, OnATerminalTheStatusLineIsOverwritten) {
  const std::vector<CasePlan> plans = {twoPlans().front()};
  Screen screen;
  {
    ProgressDisplay display(screen.file(), true, plans);
    display.started(0);
    display.ended(0, ended("single-drafter", reports::Verdict::kPassed));
  }
  EXPECT_EQ(screen.text(),
            "\r\033[K[0/1] single-drafter 0/12"
            "\r\033[K[1/1] PASSED single-drafter, 1.50 s\n"
            "\r\033[K[1/1]   0.00 s left"
            "\r\033[K");
}

}  // namespace
}  // namespace redraft::harness
