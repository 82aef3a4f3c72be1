#include "model/parity.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace redraft::model {
namespace {

/// Folder of the reference fixtures: REDRAFT_FIXTURES, or beside the repository.
std::string fixtureFolder() {
  const char* set = std::getenv("REDRAFT_FIXTURES");
  return set != nullptr ? set : "../shared/fixtures/specforge";
}

class ParityFixtureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ParityFixtureTest, StaysWithinEveryBound) {
  const std::string path = joinPath(fixtureFolder(), std::string(GetParam()) + ".safetensors");
  if (!fileExists(path)) GTEST_SKIP() << "no reference fixture at " << path << "; set REDRAFT_FIXTURES";
  const std::vector<ParityLine> lines = runParity(path);
  EXPECT_GE(lines.size(), 13u);
  for (const ParityLine& line : lines) EXPECT_TRUE(line.pass) << parityTable({line});
}

INSTANTIATE_TEST_SUITE_P(SpecForge, ParityFixtureTest,
                         ::testing::Values("full_b1", "full_b2_gaps", "sliding", "dpace", "dpace_b2", "edge_rows",
                                           "overfit"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ParityTableTest, MarksExcessAndExactQuantities) {
  const std::string table = parityTable({{"losses", 2e-5, 1e-5, false, "step 3"}, {"greedy", 0, 0, true, ""}});
  EXPECT_NE(table.find("| losses | 2.00e-05 | 1.00e-05 | EXCEEDED | step 3 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| greedy | 0 differ | exact | ok |  |"), std::string::npos) << table;
}

}  // namespace
}  // namespace redraft::model
