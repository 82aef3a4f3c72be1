#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "golden/compare.h"
#include "golden/golden.h"
#include "tests/golden/fake_run.h"

namespace redraft::golden {
namespace {

class RunReaderTest : public ::testing::Test {
 protected:
  void SetUp() override { writeRun(run(), exampleRecord()); }
  std::string run() const { return folder_.path() + "/run"; }
  std::string file(const std::string& name) const { return joinPath(run(), name); }

  /// Expects loadRun to refuse the folder with a message that holds `text`.
  void expectRefused(const std::string& text) {
    try {
      loadRun(run());
      FAIL() << "the run was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(RunReaderTest, ReadsBackEveryValueOfARun) {
  const Record record = loadRun(run());
  EXPECT_EQ(record.scenario, "single-drafter");
  EXPECT_EQ(compareNumerics(exampleRecord(), record).outcome, Outcome::kEqual);
  EXPECT_EQ(record.peakBytes, exampleRecord().peakBytes);
  EXPECT_EQ(record.samples.at("all").tokensPerSecond, exampleRecord().samples.at("all").tokensPerSecond);
  EXPECT_EQ(record.performanceClass, exampleRecord().performanceClass);
}

TEST_F(RunReaderTest, WaitsAreSharesOfTheirStep) {
  const Record record = loadRun(run());
  EXPECT_EQ(record.stepSeconds, (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(record.waits.at("drafter[0]").features, (std::vector<double>{0.25, 0.25, 0.25}));
  EXPECT_EQ(record.waits.at("drafter[0]").gradients, (std::vector<double>{0.125, 0.125, 0.125}));
}

TEST_F(RunReaderTest, AStepThatKeptNoDigestsHasNone) {
  Record record = exampleRecord();
  record.steps[1].keptDigests = false;
  record.steps[1].parametersHash = "";
  record.gradients[1].clear();
  writeRun(run(), record);
  const Record read = loadRun(run());
  EXPECT_EQ(read.gradients[0].size(), 2u);
  EXPECT_TRUE(read.gradients[1].empty());
  EXPECT_EQ(compareNumerics(record, read).outcome, Outcome::kEqual);
  const NumericsComparison other = compareNumerics(exampleRecord(), read);
  EXPECT_EQ(other.outcome, Outcome::kDifferent);
  EXPECT_EQ(other.firstStep, 1);
}

TEST_F(RunReaderTest, RefusesATornLastLine) {
  const std::string text = readFile(file("metrics.jsonl"));
  overwrite(file("metrics.jsonl"), text.substr(0, text.size() - 5));
  expectRefused("torn");
}

TEST_F(RunReaderTest, RefusesMetricsCutAtEveryByte) {
  const std::string text = readFile(file("metrics.jsonl"));
  const Record whole = loadRun(run());
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    overwrite(file("metrics.jsonl"), text.substr(0, cut));
    try {
      // A cut at a line's end leaves a shorter run, which must differ from the whole one; anything else is refused.
      EXPECT_NE(compareNumerics(whole, loadRun(run())).outcome, Outcome::kEqual) << cut;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << cut;
    }
  }
}

TEST_F(RunReaderTest, RefusesAnUnknownVersion) {
  std::string text = readFile(file("metrics.jsonl"));
  text.replace(text.find("redraft.metrics/1"), 17, "redraft.metrics/9");
  overwrite(file("metrics.jsonl"), text);
  expectRefused("redraft.metrics/9");
}

TEST_F(RunReaderTest, RefusesAStepThatIsMissingInTheMiddle) {
  bool torn = false;
  std::vector<std::string> lines = readLines(file("metrics.jsonl"), &torn);
  lines.erase(lines.begin() + 2);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  overwrite(file("metrics.jsonl"), text);
  expectRefused("step 2 where 1 was due");
}

TEST_F(RunReaderTest, RefusesDigestsThatLackAStep) {
  Record record = exampleRecord();
  writeRun(run(), record);
  std::string metrics = readFile(file("metrics.jsonl"));
  record.gradients.pop_back();
  writeRun(run(), record);
  overwrite(file("metrics.jsonl"), metrics);
  expectRefused("step.2.grad.l2");
}

TEST_F(RunReaderTest, RefusesAMissingFileOfTheRun) {
  for (const char* name : {"metrics.jsonl", "digests.bin", "memory.json"}) {
    writeRun(run(), exampleRecord());
    ASSERT_EQ(::unlink(file(name).c_str()), 0);
    expectRefused(name);
  }
}

}  // namespace
}  // namespace redraft::golden
