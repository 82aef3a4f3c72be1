#include "golden/conflict.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "golden/golden_file.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

TEST(MergeConflictTest, ATextWithoutMarkersHasNone) {
  EXPECT_FALSE(findConflict("{\n \"a\": \"<<<<<<< no\"\n}\n").has_value());
}

TEST(MergeConflictTest, GivesBothSidesAndTheKeysBetweenThem) {
  const auto conflict = findConflict(
      "{\n<<<<<<< HEAD\n \"a\": 1,\n||||||| base\n \"a\": 0,\n=======\n \"a\": 2,\n>>>>>>> feature\n \"b\": 3,\n"
      "<<<<<<< HEAD\n \"c\": 4\n=======\n \"c\": 5\n>>>>>>> feature\n}\n");
  ASSERT_TRUE(conflict.has_value());
  EXPECT_EQ(conflict->line, 2);
  EXPECT_EQ(conflict->hunks, 2);
  EXPECT_EQ(conflict->ours, "HEAD");
  EXPECT_EQ(conflict->theirs, "feature");
  EXPECT_EQ(conflict->keys, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(conflict->oursText, "{\n \"a\": 1,\n \"b\": 3,\n \"c\": 4\n}\n");
  EXPECT_EQ(conflict->theirsText, "{\n \"a\": 2,\n \"b\": 3,\n \"c\": 5\n}\n");
}

TEST(MergeConflictTest, AGoldenWithOneIsRefusedWithItsLineItsKeyAndTheRemedy) {
  const TemporaryFolder folder;
  std::string text = numericsText({exampleRecord(), {}});
  const std::size_t begin = text.find("  \"step/1/loss\""), end = text.find('\n', begin) + 1;
  const std::string line = text.substr(begin, end - begin);
  text.replace(begin, end - begin, "<<<<<<< HEAD\n" + line + "=======\n" + line + ">>>>>>> feature\n");
  const std::string path = joinPath(folder.path(), "golden.json");
  overwrite(path, text);
  const auto number = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  try {
    loadGolden(path);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), path + ":" + std::to_string(number));
    EXPECT_EQ(error.message(), "a merge has left 1 conflict in it, HEAD against feature: step/1/loss");
    EXPECT_NE(error.remedy().find("redraft bless --review RUN"), std::string::npos);
  }
}

TEST(MergeConflictTest, MarkersThatNeverCloseAreOneToo) {
  const auto conflict = findConflict("<<<<<<< HEAD\n{}\n");
  ASSERT_TRUE(conflict.has_value());
  EXPECT_EQ(conflict->line, 1);
  EXPECT_EQ(conflict->theirsText, "");
}

}  // namespace
}  // namespace redraft::golden
