#include "harness/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/record.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace redraft::harness {
namespace {

using testing_support::expectBadInput;
using testing_support::TempFolder;

void overwriteInPlace(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file << "X";
  ASSERT_TRUE(file.good());
}

TEST(RunFolderTest, AnEditOfOneRunsDataChangesNeitherItsSourceNorAnotherRun) {
  const TempFolder folder;
  makeDirectories(folder.file("model/part"));
  writeFileAtomically(folder.file("model/part/weights"), "weights");
  writeFileAtomically(folder.file("corpus"), "corpus");
  for (const char* run : {"a", "b"}) {
    layData({folder.file("model"), "data/model"}, folder.file(run));
    layData({folder.file("corpus"), "data/corpus"}, folder.file(run));
    EXPECT_EQ(readFile(folder.file(run) + "/data/model/part/weights"), "weights");
  }
  overwriteInPlace(folder.file("a/data/corpus"));
  overwriteInPlace(folder.file("a/data/model/part/weights"));
  EXPECT_EQ(readFile(folder.file("a/data/corpus")), "Xorpus");
  for (const char* other : {"corpus", "b/data/corpus"}) EXPECT_EQ(readFile(folder.file(other)), "corpus") << other;
  for (const char* other : {"model/part/weights", "b/data/model/part/weights"})
    EXPECT_EQ(readFile(folder.file(other)), "weights") << other;
}

TEST(RunFolderTest, AnEmptyFileIsLaidAndAMissingOneIsBadInput) {
  const TempFolder folder;
  writeFileAtomically(folder.file("empty"), "");
  layData({folder.file("empty"), "data/empty"}, folder.file("run"));
  EXPECT_EQ(readFile(folder.file("run/data/empty")), "");
  EXPECT_THROW(layData({folder.file("absent"), "data/absent"}, folder.file("run")), Error);
}

TEST(RunFolderTest, TheEnvironmentIsReadAsItWasLaidAndAnotherSchemaIsRefused) {
  const TempFolder folder;
  CasePlan plan;
  plan.processes = 2;
  golden::EnvironmentReport environment;
  environment.commit = "abc";
  prepareRunFolder(folder.file("run"), plan, environment);
  const golden::EnvironmentReport laid = loadEnvironmentReport(folder.file("run"));
  EXPECT_EQ(laid.commit, "abc");
  EXPECT_EQ(laid.processes, 2);
  environment.schema = "redraft.environment/9";
  writeFileAtomically(folder.file("run/environment.json"), pretty(recordToJson(environment)));
  expectBadInput([&] { loadEnvironmentReport(folder.file("run")); },
                 {"environment.json", "\"redraft.environment/9\" is not known", "expected redraft.environment/1"});
}

}  // namespace
}  // namespace redraft::harness
