#include "base/log.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace redraft {
namespace {

class LogTest : public testing::Test {
 protected:
  void TearDown() override { setLogLevel(LogLevel::kInfo); }
};

TEST_F(LogTest, WritesOneLineWithItsLevel) {
  testing::internal::CaptureStderr();
  log(LogLevel::kWarning, "queue is full");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "redraft: warning: queue is full\n");
}

TEST_F(LogTest, LeavesOutWhatIsBelowTheLevel) {
  testing::internal::CaptureStderr();
  log(LogLevel::kDebug, "unseen");
  setLogLevel(LogLevel::kError);
  log(LogLevel::kWarning, "unseen");
  log(LogLevel::kError, "seen");
  setLogLevel(LogLevel::kDebug);
  log(LogLevel::kDebug, "seen too");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "redraft: error: seen\nredraft: debug: seen too\n");
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  constexpr int kThreads = 4, kLines = 200;
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kLines; ++i) log(LogLevel::kInfo, std::to_string(t) + "/" + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::multiset<std::string> got, want;
  for (const std::string& line : split(testing::internal::GetCapturedStderr(), '\n')) got.insert(line);
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kLines; ++i) want.insert("redraft: info: " + std::to_string(t) + "/" + std::to_string(i));
  }
  want.insert("");  // after the last newline
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace redraft
