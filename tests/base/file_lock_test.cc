#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "tests/support/child_process.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::ChildProcess;
using testing_support::expectError;
using testing_support::sendByte;
using testing_support::TempFolder;

constexpr int kPatientMs = 60'000;  // longer than any test may run

class FileLockTest : public testing::Test {
 protected:
  /// Holds the lock until it is killed.
  static void hold(const std::string& path, int pipe) {
    const FileLock lock(path, 0);
    sendByte(pipe);
    while (true) ::pause();
  }

  const TempFolder folder_;
  const std::string path_ = folder_.file("gpu0.lock");
};

TEST_F(FileLockTest, NamesTheProcessThatHoldsIt) {
  ChildProcess holder([&](int pipe) { hold(path_, pipe); });
  ASSERT_TRUE(holder.waitForByte());
  expectError(ErrorKind::kEnvironment, [&] { FileLock(path_, 0); },
              {path_, "is locked by process " + std::to_string(holder.pid())});
}

TEST_F(FileLockTest, IsFreeOnceItsHolderIsKilled) {
  ChildProcess holder([&](int pipe) { hold(path_, pipe); });
  ASSERT_TRUE(holder.waitForByte());
  holder.kill();
  EXPECT_NO_THROW(FileLock(path_, 0));
  EXPECT_EQ(readFile(path_), std::to_string(::getpid()) + "\n");
}

TEST_F(FileLockTest, ExcludesASecondLockOfTheSameProcess) {
  {
    const FileLock lock(path_, 0);
    expectError(ErrorKind::kEnvironment, [&] { FileLock(path_, 20); }, {std::to_string(::getpid())});
  }
  EXPECT_NO_THROW(FileLock(path_, 0));
}

TEST_F(FileLockTest, WaitsForTheHolderToLetGo) {
  constexpr int kThreads = 4, kRounds = 10;
  std::atomic<int> inside{0};
  int counter = 0;  // guarded by the lock alone
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const FileLock lock(path_, kPatientMs);
        EXPECT_EQ(inside.fetch_add(1), 0);
        ++counter;
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * kRounds);
}

TEST_F(FileLockTest, DoesNotTrustWhatAnotherProgramWroteIntoTheFile) {
  ChildProcess holder([&](int pipe) { hold(path_, pipe); });
  ASSERT_TRUE(holder.waitForByte());
  for (const char* content : {"", "\n", "not a pid\n", "99999999999999999999999999999999999999999999999\n"}) {
    std::FILE* file = std::fopen(path_.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(content, file);
    std::fclose(file);
    expectError(ErrorKind::kEnvironment, [&] { FileLock(path_, 0); }, {"is locked by"});
  }
}

}  // namespace
}  // namespace redraft
