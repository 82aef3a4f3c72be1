// What is left when a write cannot be finished: a full disk, a folder that went away, a writer that was killed.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/philox.h"
#include "tests/support/child_process.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::ChildProcess;
using testing_support::expectError;
using testing_support::sendByte;
using testing_support::TempFolder;

/// No file of this process may grow beyond `bytes`: the write that would fails as on a full disk (EFBIG for ENOSPC).
void limitFileSize(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
}

class FullDiskTest : public testing::Test {
 protected:
  /// Runs `write` in a child whose files are limited to 4096 bytes, and gives the step and errno that it was refused
  /// for.
  template <typename Write>
  static std::string messageOf(Write&& write) {
    const TempFolder folder;
    const std::string report = folder.file("report");
    ChildProcess child([&](int) {
      limitFileSize(4096);
      try {
        write();
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kEnvironment) writeFileAtomically(report, error.what());
      }
    });
    EXPECT_EQ(child.wait(), 0);
    return fileExists(report) ? readFile(report) : "no error";
  }
};

TEST_F(FullDiskTest, AnAtomicWriteLeavesTheOldFileAndNoTemporary) {
  const TempFolder folder;
  const std::string path = folder.file("a");
  writeFileAtomically(path, "old");
  const std::string message = messageOf([&] { writeFileAtomically(path, std::string(5000, 'x')); });
  EXPECT_NE(message.find(path + ": cannot write (write): File too large"), std::string::npos) << message;
  EXPECT_NE(message.find("remedy: free some space"), std::string::npos) << message;
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(listDirectory(folder.path()), std::vector<std::string>{"a"});
}

TEST_F(FullDiskTest, AnAppendTakesBackTheLineThatDidNotFit) {
  const TempFolder folder;
  const std::string path = folder.file("lines");
  const std::string line(1000, 'x');
  const std::string message = messageOf([&] {
    LineWriter writer(path);
    for (int i = 0; i < 4; ++i) writer.append(line);
    writer.append(line);
  });
  EXPECT_NE(message.find(path + ": cannot append: File too large"), std::string::npos) << message;
  bool torn = true;
  EXPECT_EQ(readLines(path, &torn), std::vector<std::string>(4, line));
  EXPECT_FALSE(torn);
}

TEST_F(FullDiskTest, AShorterLineStillFitsAfterOneThatDidNot) {
  const TempFolder folder;
  const std::string path = folder.file("lines");
  messageOf([&] {
    LineWriter writer(path);
    try {
      writer.append(std::string(5000, 'x'));
    } catch (const Error&) {
      writer.append("short");
      throw;
    }
  });
  EXPECT_EQ(readLines(path), std::vector<std::string>{"short"});
}

TEST(UnwritableTest, AFullDeviceIsNamed) {
  LineWriter writer("/dev/full");
  expectError(ErrorKind::kEnvironment, [&] { writer.append("line"); }, {"/dev/full", "No space left"});
}

TEST(UnwritableTest, EveryWriterNamesTheStepThatWasRefused) {
  const TempFolder folder;
  writeFileAtomically(folder.file("file"), "");
  const std::string inFile = folder.file("file/under"), inNone = folder.file("none/under");
  for (const std::string& path : {inFile, inNone}) {
    expectError(ErrorKind::kEnvironment, [&] { writeFileAtomically(path, "x"); }, {path, "cannot write (open)"});
    expectError(ErrorKind::kEnvironment, [&] { LineWriter{path}; }, {path, "cannot open for appending"});
    expectError(ErrorKind::kEnvironment, [&] { FileLock(path, 0); }, {path, "cannot lock"});
  }
  expectError(ErrorKind::kEnvironment, [&] { makeDirectories(inFile); }, {folder.file("file"), "cannot make"});
}

TEST(UnwritableTest, AFolderOrADeviceIsNotReplaced) {
  const TempFolder folder;
  expectError(ErrorKind::kEnvironment, [&] { writeFileAtomically(folder.path(), "x"); }, {"not a regular file"});
  expectError(ErrorKind::kEnvironment, [] { writeFileAtomically("/dev/null", "x"); }, {"not a regular file"});
}

TEST(UnwritableTest, AFolderThatWentAwayIsNoticedAtTheRename) {
  const TempFolder folder;
  makeDirectories(folder.file("gone"));
  AtomicFile file(folder.file("gone/a"));
  file.write("x");
  std::filesystem::remove_all(folder.file("gone"));
  expectError(ErrorKind::kEnvironment, [&] { file.commit(); }, {folder.file("gone/a"), "cannot write (rename)"});
}

TEST(KilledWriterTest, LeavesTheOldFileOrTheNewOneWhole) {
  const TempFolder folder;
  const std::string path = folder.file("a");
  const std::string a(300'000, 'a'), b(300'000, 'b');
  writeFileAtomically(path, a);
  CounterRng rng(1, "kill");
  for (int round = 0; round < 30; ++round) {
    ChildProcess child([&](int pipe) {
      for (int i = 0;; ++i) {
        AtomicFile file(path);
        for (const char c : i % 2 == 0 ? std::string("bbb") : std::string("aaa")) {
          file.write(std::string(100'000, c));
          sendByte(pipe);
        }
        file.commit();
      }
    });
    for (std::uint64_t steps = 1 + rng.below(12); steps > 0; --steps) ASSERT_TRUE(child.waitForByte());
    child.kill();
    const std::string found = readFile(path);
    ASSERT_TRUE(found == a || found == b) << "a mixture of " << found.size() << " bytes";
  }
}

TEST(KilledWriterTest, LeavesWholeLinesAndAtMostOneTornOne) {
  const TempFolder folder;
  const std::string path = folder.file("lines");
  const std::string line(10'000, 'x');
  std::size_t before = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    ChildProcess child([&](int pipe) {
      LineWriter writer(path);
      while (true) {
        writer.append(line);
        sendByte(pipe);
      }
    });
    for (std::uint64_t lines = 0; lines <= round; ++lines) ASSERT_TRUE(child.waitForByte());
    child.kill();
    const std::vector<std::string> lines = readLines(path);
    ASSERT_GT(lines.size(), before);
    before = lines.size();
    for (const std::string& found : lines) ASSERT_EQ(found, line);
  }
}

}  // namespace
}  // namespace redraft
