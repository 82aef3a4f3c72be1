#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::expectBadInput;
using testing_support::TempFolder;
using Lines = std::vector<std::string>;

class LinesTest : public testing::Test {
 protected:
  const TempFolder folder_;
  const std::string path_ = folder_.file("events.jsonl");
};

TEST_F(LinesTest, ComeBackInOrderOverSeveralWriters) {
  LineWriter(path_).append("one");
  {
    LineWriter writer(path_);
    writer.append("");
    writer.append("three");
  }
  bool torn = true;
  EXPECT_EQ(readLines(path_, &torn), (Lines{"one", "", "three"}));
  EXPECT_FALSE(torn);
}

TEST_F(LinesTest, ATornLastLineIsDroppedAndReported) {
  writeFileAtomically(path_, "one\ntwo\n{\"half\": ");
  bool torn = false;
  EXPECT_EQ(readLines(path_, &torn), (Lines{"one", "two"}));
  EXPECT_TRUE(torn);
  EXPECT_EQ(readLines(path_), (Lines{"one", "two"}));
}

TEST_F(LinesTest, ANewWriterCutsATornLineOff) {
  writeFileAtomically(path_, "one\n{\"half\": ");
  LineWriter(path_).append("two");
  EXPECT_EQ(readFile(path_), "one\ntwo\n");
}

TEST_F(LinesTest, ATornLineOfAnyLengthIsCutOff) {
  for (const std::size_t length : {1u, 4095u, 4096u, 4097u, 20'000u}) {
    writeFileAtomically(path_, "one\n" + std::string(length, 'x'));
    LineWriter(path_).append("two");
    EXPECT_EQ(readFile(path_), "one\ntwo\n") << length;
    writeFileAtomically(path_, std::string(length, 'x'));
    LineWriter(path_).append("only");
    EXPECT_EQ(readFile(path_), "only\n") << length;
  }
}

TEST_F(LinesTest, AnEmptyFileHasNone) {
  writeFileAtomically(path_, "");
  bool torn = true;
  EXPECT_EQ(readLines(path_, &torn), Lines{});
  EXPECT_FALSE(torn);
}

TEST_F(LinesTest, HoldToTheLimit) {
  writeFileAtomically(path_, "12345\n");
  expectBadInput([&] { readLines(path_, nullptr, 5); }, {"larger than 5 bytes"});
  expectBadInput([&] { readLines(folder_.file("none")); }, {"cannot open"});
}

TEST_F(LinesTest, OfManyThreadsStayWhole) {
  constexpr int kThreads = 4, kLines = 500;
  {
    LineWriter writer(path_);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < kLines; ++i)
          writer.append(std::string(static_cast<std::size_t>(i), static_cast<char>('a' + t)));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Lines got = readLines(path_), want;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kLines; ++i) want.emplace_back(static_cast<std::size_t>(i), static_cast<char>('a' + t));
  }
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  EXPECT_EQ(got, want);
}

using LinesDeathTest = LinesTest;

TEST_F(LinesDeathTest, MayNotHoldANewline) {
  LineWriter writer(path_);
  EXPECT_DEATH(writer.append("a\nb"), "takes one line");
}

}  // namespace
}  // namespace redraft
