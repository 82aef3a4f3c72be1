#include "harness/runner_stacks.h"

#include <gtest/gtest.h>

namespace redraft::harness {
namespace {

using Lines = std::vector<std::string>;

TEST(RunnerStacksTest, EveryStackEndsWhereTheNextLineOfTheRunnerBegins) {
  const auto stacks =
      runnerStacks({"noise", "redraft: info: stack of thread drafter[0] (41), innermost first:", "wait()", "main()",
                    "redraft: error: ended by SIGABRT in thread redraft-runner (40); stack, innermost first:", "join()",
                    "redraft: info: something else", "not a frame"});
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks[0].thread, "drafter[0]");
  EXPECT_EQ(stacks[0].number, 41);
  EXPECT_FALSE(stacks[0].fatal);
  EXPECT_EQ(stacks[0].lines.size(), 3u);
  EXPECT_EQ(stacks[1].thread, "redraft-runner");
  EXPECT_TRUE(stacks[1].fatal);
  EXPECT_EQ(stacks[1].lines.back(), "join()");
}

TEST(RunnerStacksTest, FramesOfARecursionAreCounted) {
  const std::string head = "redraft: error: ended by SIGSEGV in thread drafter[1] (42); stack, innermost first:";
  const auto stacks = runnerStacks({head, "f()", "f()", "f()", "g()", "f()", "f()"});
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].lines,
            (Lines{head, "f()", "  (the same 2 more times)", "g()", "f()", "  (the same 1 more times)"}));
}

TEST(RunnerStacksTest, ALongStackIsCutAndSaysSo) {
  Lines log = {"redraft: info: stack of thread target[0] (43), innermost first:"};
  for (int i = 0; i < 40; ++i) log.push_back("frame " + std::to_string(i));
  const auto stacks = runnerStacks(log);
  ASSERT_EQ(stacks.size(), 1u);
  ASSERT_EQ(stacks[0].lines.size(), 33u);
  EXPECT_EQ(stacks[0].lines.back(), "  (9 more lines in runner.log)");
}

TEST(RunnerStacksTest, AHeadThatNamesNoThreadIsStillThatOfACrash) {
  const auto stacks = runnerStacks({"ended by SIGSEGV", "f()"});
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].thread, "");
  EXPECT_EQ(stacks[0].number, -1);
  EXPECT_TRUE(stacks[0].fatal);
}

TEST(RunnerStacksTest, ALogWithoutAStackHasNone) { EXPECT_TRUE(runnerStacks({"a stack of frames", "x"}).empty()); }

TEST(RunnerStacksTest, ARolesThreadBearsAsMuchOfItsNameAsTheKernelKeeps) {
  EXPECT_EQ(threadNameOf("drafter[1]"), "drafter[1]");
  EXPECT_EQ(threadNameOf("drafter[1234567890]"), "drafter[1234567");
}

}  // namespace
}  // namespace redraft::harness
