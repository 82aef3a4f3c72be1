#include "golden/orphans.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "golden/golden.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

class OrphansTest : public ::testing::Test {
 protected:
  OrphansTest() {
    Provenance why;
    why.reason = "first";
    bless(exampleRecord(), root(), "kept", why);
    bless(exampleRecord(), root(), "gone/away", why);
  }
  std::string root() const { return folder_.path(); }
  std::string numerics(const std::string& scenario) const {
    return numericsPath(root(), scenario, exampleRecord().numericsClass);
  }

  TemporaryFolder folder_;
  PruneNote because_{"2026-11-30T12:00:00Z", "abcdef012345", "the scenario was merged into kept"};
};

TEST_F(OrphansTest, GoldensOfLivingScenariosAreNone) {
  EXPECT_TRUE(findOrphans(root(), {{"kept", {3, true}}, {"gone/away", {3, true}}}).empty());
}

TEST_F(OrphansTest, BothFilesOfAScenarioThatIsGoneAreTakenAwayWithTheirFolders) {
  const std::vector<Orphan> orphans = findOrphans(root(), {{"kept", {3, true}}});
  ASSERT_EQ(orphans.size(), 2u);
  EXPECT_EQ(orphans[0].file, numerics("gone/away"));
  EXPECT_EQ(orphans[0].scenario, "gone/away");
  for (const Orphan& orphan : orphans) prune(root(), orphan, because_);
  EXPECT_FALSE(fileExists(root() + "/gone"));
  EXPECT_TRUE(fileExists(numerics("kept")));
  const std::vector<std::string> notes = readLines(root() + "/pruned.jsonl");
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(Json::parse(notes[0])["reason"], because_.reason);
  EXPECT_TRUE(findOrphans(root(), {{"kept", {3, true}}}).empty());
}

TEST_F(OrphansTest, ValuesThatNoRunHasAnyMoreAreTakenOutOfTheirGolden) {
  const std::map<std::string, GoldenUser> users = {{"kept", {2, false}}, {"gone/away", {0, false}}};
  const std::vector<Orphan> orphans = findOrphans(root(), users);
  ASSERT_EQ(orphans.size(), 1u) << "values of goldens whose steps are not known are not looked at";
  EXPECT_EQ(orphans[0].file, numerics("kept"));
  EXPECT_EQ(orphans[0].keys.front(), "step/2/accuracy");
  EXPECT_EQ(orphans[0].keys.back(), "evaluation/text_hash");
  prune(root(), orphans[0], because_);
  const Golden golden = loadGolden(numerics("kept"));
  EXPECT_EQ(golden.record.steps.size(), 2u);
  EXPECT_FALSE(golden.record.evaluation.has_value());
  EXPECT_NE(golden.history.front().find(because_.reason), std::string::npos);
  EXPECT_TRUE(findOrphans(root(), users).empty());
}

TEST_F(OrphansTest, NothingIsTakenAwayWithoutAReason) {
  const std::vector<Orphan> orphans = findOrphans(root(), {});
  ASSERT_EQ(orphans.size(), 4u);
  EXPECT_THROW(prune(root(), orphans[0], {"", "", " "}), Error);
  EXPECT_TRUE(fileExists(orphans[0].file));
}

}  // namespace
}  // namespace redraft::golden
