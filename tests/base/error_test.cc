#include "base/error.h"

#include <gtest/gtest.h>

namespace redraft {
namespace {

TEST(ErrorTest, SaysPlaceMessageAndRemedy) {
  const Error error(ErrorKind::kBadInput, "a.json:3", "expected a number", "write one");
  EXPECT_STREQ(error.what(), "a.json:3: expected a number\n  remedy: write one");
  EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
  EXPECT_EQ(error.place(), "a.json:3");
  EXPECT_EQ(error.message(), "expected a number");
  EXPECT_EQ(error.remedy(), "write one");
}

TEST(ErrorTest, LeavesOutWhatIsEmpty) {
  EXPECT_STREQ(Error(ErrorKind::kDevice, "", "launch failed").what(), "launch failed");
  EXPECT_STREQ(Error(ErrorKind::kEnvironment, "gpu 1", "busy").what(), "gpu 1: busy");
}

TEST(ErrorTest, BadInputShorthandThrowsBadInput) {
  try {
    throwBadInput("f", "m", "r");
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_STREQ(error.what(), "f: m\n  remedy: r");
  }
}

TEST(CheckDeathTest, EndsTheProcessWithPlaceConditionAndMessage) {
  const int devices = 2;
  EXPECT_DEATH(REDRAFT_CHECK(devices == 1, "wanted one device"),
               "error_test.cc:[0-9]+: check failed: devices == 1: wanted one device");
}

TEST(CheckTest, DoesNotEvaluateTheMessageOfACheckThatHolds) {
  int evaluated = 0;
  const auto message = [&] {
    ++evaluated;
    return "unused";
  };
  REDRAFT_CHECK(true, message());
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace redraft
