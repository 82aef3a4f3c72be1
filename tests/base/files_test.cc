#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft {
namespace {

using testing_support::expectBadInput;
using testing_support::TempFolder;

TEST(ReadFileTest, ReadsEveryByte) {
  const TempFolder folder;
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>(i);
  writeFileAtomically(folder.file("a"), bytes);
  EXPECT_EQ(readFile(folder.file("a")), bytes);
  writeFileAtomically(folder.file("empty"), "");
  EXPECT_EQ(readFile(folder.file("empty")), "");
}

TEST(ReadFileTest, HoldsTheLimitToTheByte) {
  const TempFolder folder;
  writeFileAtomically(folder.file("a"), "12345");
  EXPECT_EQ(readFile(folder.file("a"), 5), "12345");
  expectBadInput([&] { readFile(folder.file("a"), 4); }, {folder.file("a"), "larger than 4 bytes"});
}

TEST(ReadFileTest, ReadsFilesThatDoNotKnowTheirSize) {
  EXPECT_NE(readFile("/proc/self/status").find("Name:"), std::string::npos);
  expectBadInput([] { readFile("/proc/self/status", 10); }, {"larger than 10 bytes"});
}

TEST(ReadFileTest, RefusesWhatIsNoRegularFile) {
  const TempFolder folder;
  expectBadInput([&] { readFile(folder.file("none")); }, {"cannot open", "No such file"});
  expectBadInput([&] { readFile(folder.path()); }, {"is a folder"});
  expectBadInput([] { readFile("/dev/zero"); }, {"not a regular file"});
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  expectBadInput([&] { readFile(folder.file("fifo")); }, {"not a regular file"});
}

TEST(ReadFileTest, ASparseFileOfATerabyteIsRefusedBeforeItIsRead) {
  const TempFolder folder;
  writeFileAtomically(folder.file("huge"), "");
  ASSERT_EQ(::truncate(folder.file("huge").c_str(), off_t{1} << 40), 0);
  expectBadInput([&] { readFile(folder.file("huge")); }, {"larger than"});
}

TEST(AtomicFileTest, ReplacesTheFileAtCommitAndNotBefore) {
  const TempFolder folder;
  const std::string path = folder.file("a");
  writeFileAtomically(path, "old");
  AtomicFile file(path);
  file.write("new, ");
  file.write("in two pieces");
  EXPECT_EQ(readFile(path), "old");
  file.commit();
  EXPECT_EQ(readFile(path), "new, in two pieces");
  EXPECT_EQ(listDirectory(folder.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFileTest, LeavesNothingWhenAbandoned) {
  const TempFolder folder;
  writeFileAtomically(folder.file("a"), "old");
  {
    AtomicFile file(folder.file("a"));
    file.write("half");
  }
  EXPECT_EQ(readFile(folder.file("a")), "old");
  EXPECT_EQ(listDirectory(folder.path()), std::vector<std::string>{"a"});
}

TEST(AtomicFileTest, WritesThroughALink) {
  const TempFolder folder;
  writeFileAtomically(folder.file("real"), "old");
  ASSERT_EQ(::symlink("real", folder.file("link").c_str()), 0);
  writeFileAtomically(folder.file("link"), "new");
  EXPECT_EQ(readFile(folder.file("real")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
}

TEST(AtomicFileTest, TwoWritersOfOneFileDoNotMix) {
  const TempFolder folder;
  AtomicFile first(folder.file("a")), second(folder.file("a"));
  first.write("first");
  second.write("second");
  first.commit();
  EXPECT_EQ(readFile(folder.file("a")), "first");
  second.commit();
  EXPECT_EQ(readFile(folder.file("a")), "second");
}

TEST(AtomicFileDeathTest, IsUsedUpByCommit) {
  const TempFolder folder;
  AtomicFile file(folder.file("a"));
  file.commit();
  EXPECT_DEATH(file.write("more"), "after commit");
  EXPECT_DEATH(file.commit(), "twice");
}

TEST(MakeDirectoriesTest, MakesEveryLevelAndIsIdempotent) {
  const TempFolder folder;
  const std::string deep = folder.file("a/b//c/");
  makeDirectories(deep);
  makeDirectories(deep);
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("a/b/c")));
}

TEST(PathTest, JoinsWithOneSlash) {
  EXPECT_EQ(joinPath("a", "b"), "a/b");
  EXPECT_EQ(joinPath("a/", "b"), "a/b");
  EXPECT_EQ(joinPath("", "b"), "b");
  EXPECT_EQ(joinPath("a", "/b"), "/b");
  EXPECT_EQ(joinPath("/", "b"), "/b");
}

TEST(ListDirectoryTest, GivesSortedNames) {
  const TempFolder folder;
  for (const char* name : {"b", "a", ".hidden"}) writeFileAtomically(folder.file(name), "");
  EXPECT_EQ(listDirectory(folder.path()), (std::vector<std::string>{".hidden", "a", "b"}));
  expectBadInput([&] { listDirectory(folder.file("none")); }, {"cannot list"});
  expectBadInput([&] { listDirectory(folder.file("a")); }, {"cannot list"});
}

TEST(FileExistsTest, FollowsLinks) {
  const TempFolder folder;
  EXPECT_TRUE(fileExists(folder.path()));
  EXPECT_FALSE(fileExists(folder.file("none")));
  ASSERT_EQ(::symlink("none", folder.file("dangling").c_str()), 0);
  EXPECT_FALSE(fileExists(folder.file("dangling")));
}

}  // namespace
}  // namespace redraft
