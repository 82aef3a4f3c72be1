#include "golden/golden_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "golden/golden.h"
#include "golden/values.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

class GoldenTest : public ::testing::Test {
 protected:
  Provenance because(const std::string& reason) const {
    Provenance provenance;
    provenance.reason = reason;
    provenance.commit = "abc";
    return provenance;
  }
  std::string root() const { return folder_.path(); }

  TemporaryFolder folder_;
};

TEST_F(GoldenTest, BlessedRunEqualsItsGoldenAfterReading) {
  const Record run = exampleRecord();
  const BlessResult result = bless(run, root(), "single-drafter", because("first baseline"));
  EXPECT_TRUE(result.isNew);
  const std::optional<Golden> golden = findNumerics(root(), "single-drafter", run.numericsClass);
  ASSERT_TRUE(golden.has_value());
  EXPECT_EQ(compareNumerics(golden->record, run).outcome, Outcome::kEqual);
  EXPECT_EQ(golden->record.peakBytes, run.peakBytes);
  EXPECT_EQ(golden->provenance.reason, "first baseline");
  const std::optional<Golden> performance = findPerformance(root(), "single-drafter", *run.performanceClass);
  ASSERT_TRUE(performance.has_value());
  EXPECT_EQ(compareThroughput(performance->record, run).roles.size(), 2u);
}

TEST_F(GoldenTest, AStepWithoutDigestsStaysWithoutThem) {
  Record run = exampleRecord();
  run.gradients[1].clear();
  bless(run, root(), "single-drafter", because("only some steps keep digests"));
  const std::optional<Golden> golden = findNumerics(root(), "single-drafter", run.numericsClass);
  ASSERT_TRUE(golden.has_value());
  EXPECT_TRUE(golden->record.gradients[1].empty());
  EXPECT_EQ(compareNumerics(golden->record, run).outcome, Outcome::kEqual);
}

TEST_F(GoldenTest, BlessingAgainShowsTheDifferenceFromTheOldOne) {
  bless(exampleRecord(), root(), "single-drafter", because("first"));
  Record changed = exampleRecord();
  changed.steps[2].values["loss"] = 1.0;
  const BlessResult result = bless(changed, root(), "single-drafter", because("the schedule changed"));
  EXPECT_FALSE(result.isNew);
  EXPECT_EQ(result.difference.outcome, Outcome::kDifferent);
  EXPECT_EQ(result.difference.firstStep, 2);
}

TEST_F(GoldenTest, BlessingTheSameNumbersAgainLeavesEveryValue) {
  const Record first = exampleRecord();
  bless(first, root(), "single-drafter", because("first"));
  Record again = first;
  again.peakBytes[6] += 512;  // the order of threads
  bless(again, root(), "single-drafter", because("how they answer to rounding"));
  const std::optional<Golden> golden = findNumerics(root(), "single-drafter", first.numericsClass);
  EXPECT_EQ(valuesOf(golden->record), valuesOf(first));
  EXPECT_EQ(golden->provenance.reason, "how they answer to rounding");
  again.steps[1].values["loss"] = 1.0;
  bless(again, root(), "single-drafter", because("another loss"));
  EXPECT_EQ(findNumerics(root(), "single-drafter", first.numericsClass)->record.peakBytes, again.peakBytes);
}

TEST_F(GoldenTest, BlessingNeedsAReasonAndWritesNothingWithoutOne) {
  EXPECT_THROW(bless(exampleRecord(), root(), "single-drafter", because(" \n")), Error);
  EXPECT_TRUE(listDirectory(root()).empty());
}

TEST_F(GoldenTest, BlessingRefusesAnIncompleteRun) {
  Record incomplete = exampleRecord();
  incomplete.gradients.pop_back();
  EXPECT_THROW(bless(incomplete, root(), "single-drafter", because("no")), Error);
}

TEST_F(GoldenTest, AnotherClassIsNotFoundButNamed) {
  bless(exampleRecord(), root(), "single-drafter", because("first"));
  NumericsClass other = exampleRecord().numericsClass;
  other.fields["threads"] = "2";
  std::vector<std::string> classes;
  EXPECT_FALSE(findNumerics(root(), "single-drafter", other, &classes).has_value());
  EXPECT_EQ(classes, std::vector<std::string>{exampleRecord().numericsClass.name()});
}

TEST_F(GoldenTest, AGoldenMovedToAnotherClassesPlaceIsRefused) {
  bless(exampleRecord(), root(), "single-drafter", because("first"));
  NumericsClass other = exampleRecord().numericsClass;
  other.fields["threads"] = "2";
  const std::string text = readFile(numericsPath(root(), "single-drafter", exampleRecord().numericsClass));
  overwrite(numericsPath(root(), "single-drafter", other), text);
  EXPECT_THROW(findNumerics(root(), "single-drafter", other), Error);
}

TEST_F(GoldenTest, EveryTruncationOfAGoldenIsRefused) {
  Golden golden{exampleRecord(), because("first")};
  const std::string text = numericsText(golden), path = joinPath(root(), "cut.json");
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 7) {
    overwrite(path, text.substr(0, cut));
    EXPECT_THROW(loadGolden(path), Error) << cut;
  }
}

TEST_F(GoldenTest, ErrorsNameFileLineAndKey) {
  Golden golden{exampleRecord(), because("first")};
  std::string text = numericsText(golden);
  const auto at = text.find("\"loss\": \"");
  text.replace(at + 9, 2, "zz");
  const std::string path = joinPath(root(), "bad.json");
  overwrite(path, text);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  try {
    loadGolden(path);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.place().find("bad.json:" + std::to_string(line)), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("loss"), std::string::npos) << error.what();
  }
}

TEST_F(GoldenTest, RootIsFoundUpwardFromAFolder) {
  const std::string data = joinPath(root(), "golden/data"), deep = joinPath(root(), "a/b/c");
  makeDirectories(data);
  makeDirectories(deep);
  EXPECT_EQ(findGoldens("", deep), data);
  EXPECT_THROW(findGoldens(joinPath(root(), "absent"), deep), Error);
}

}  // namespace
}  // namespace redraft::golden
