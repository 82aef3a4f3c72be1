// Planted defects of numbers, each found from two runs by `redraft divergence`, over the real runner on simulated
// devices: step, role, module, operation and direction.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/json.h"
#include "tests/paths.h"
#include "tests/scenarios/program.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

struct Planted {
  const char* scenario;
  int storedStep;  // the first at which what the runs stored differs
  const char* stage;
  int step;
  const char *role, *module, *op, *direction, *of;
};

const Planted kPlanted[] = {
    {"numerics/wrong-scale", 3, "forward", 3, "drafter[0]", "layers.0.self_attn.k_norm", "redraft::rms_norm", "forward",
     ""},
    {"numerics/wrong-backward", 2, "backward", 2, "drafter[1]", "layers.0.mlp", "redraft::silu_mul_backward",
     "backward", "redraft::silu_mul"},
    {"numerics/slipped-update", 5, "forward", 4, "drafter[1]", "layers.0.self_attn.q_norm", "redraft::adamw_step", "",
     ""},
    {"numerics/wrong-position", 1, "forward", 1, "drafter[1]", "embed_tokens", "aten::embedding", "forward", ""},
    {"numerics/lost-part", 3, "backward", 3, "drafter[1]", "", "redraft::add_exact", "", ""},
    {"numerics/stale-feature", 3, "forward", 3, "target[1]", "", "aten::cat", "forward", ""},
};

/// All runs of this file, made once.
class Runs {
 public:
  static const Runs& all() {
    static const Runs runs;
    return runs;
  }
  std::string clean() const { return folders_.at("dual-drafter"); }
  std::string of(const std::string& scenario) const { return folders_.at(scenario); }
  const std::string& out() const { return folder_.path(); }

 private:
  Runs() {
    std::vector<std::string> arguments = {"run",         "--json",
                                          "--jobs",      "2",
                                          "--scenarios", std::string(kSourceFolder) + "/scenarios",
                                          "--out",       folder_.file("runs"),
                                          "dual-drafter"};
    for (const Planted& each : kPlanted) arguments.emplace_back(each.scenario);
    const Outcome outcome = runRedraft(folder_.path(), arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json suite = Json::parse(outcome.out, nullptr, false);
    for (const Json& each : suite["cases"]) folders_[each["name"]] = each["run_folder"];
  }

  const testing_support::TempFolder folder_;
  std::map<std::string, std::string> folders_;
};

Outcome divergence(std::vector<std::string> arguments) {
  const testing_support::TempFolder folder;
  arguments.insert(arguments.begin(), {"divergence", "--out", folder.file("further")});
  return runRedraft(folder.path(), arguments);
}

Json divergenceJson(const std::string& a, const std::string& b, int code) {
  const Outcome outcome = divergence({"--json", a, b});
  EXPECT_EQ(outcome.code, code) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

class PlantedDefectTest : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedDefectTest, IsFoundWithTwoFurtherRuns) {
  const Planted& planted = GetParam();
  const Json report = divergenceJson(Runs::all().clean(), Runs::all().of(planted.scenario), 1);
  ASSERT_TRUE(report.is_object());
  SCOPED_TRACE(report["text"].dump(1));
  EXPECT_EQ(report["step"], planted.storedStep);
  EXPECT_EQ(report["stage"], planted.stage);
  EXPECT_EQ(report["further_runs"], 2);
  EXPECT_EQ(report["verdict"], "operation");
  EXPECT_EQ(report["unmatched"], 0);
  EXPECT_FALSE(report["a"].contains("unlike_at"));
  EXPECT_FALSE(report["b"].contains("unlike_at"));
  const Json& op = report["of_b"];
  EXPECT_EQ(op["step"], planted.step);
  EXPECT_EQ(op["role"], planted.role);
  EXPECT_EQ(op.value("module", ""), planted.module);
  EXPECT_EQ(op["op"], planted.op);
  EXPECT_EQ(op.value("direction", ""), planted.direction);
  EXPECT_EQ(op.value("of", ""), planted.of);
}

std::string nameOf(const ::testing::TestParamInfo<Planted>& info) {
  std::string name = std::string(info.param.scenario).substr(std::string("numerics/").size());
  for (char& letter : name)
    if (letter == '-') letter = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Numerics, PlantedDefectTest, ::testing::ValuesIn(kPlanted), nameOf);

TEST(DivergenceTest, LeavesAPageWhichReportMakesAgain) {
  const testing_support::TempFolder folder;
  const std::string out = folder.file("further"), page = folder.file("page.html"), again = folder.file("again.html");
  const Outcome outcome = runRedraft(folder.path(), {"divergence", "--out", out, "--html", page, Runs::all().clean(),
                                                     Runs::all().of("numerics/wrong-backward")});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const std::string record = std::filesystem::directory_iterator(out)->path().string();
  EXPECT_NE(readFile(page).find("<title>Redraft: runs part in step 2</title>"), std::string::npos);
  EXPECT_EQ(readFile(record + "/report.html"), readFile(page));
  EXPECT_EQ(runRedraft(folder.path(), {"report", record, "--html", again}).code, 0);
  EXPECT_EQ(readFile(again), readFile(page));
}

TEST(DivergenceTest, TwoEqualRunsHaveNone) {
  const std::string run = Runs::all().clean();
  const testing_support::TempFolder folder;
  const Outcome replay =
      runRedraft(folder.path(), {"replay", "--json", run, "--op-digests", "3:4", "--out", folder.file("again")});
  ASSERT_EQ(replay.code, 0) << replay.err;
  const std::string again = Json::parse(replay.out)["now"]["run_folder"];
  const Json report = divergenceJson(run, again, 0);
  EXPECT_EQ(report["same"], true);
  EXPECT_EQ(report["further_runs"], 0);
  EXPECT_EQ(report["text"], Json::array({"no divergence: equal bit for bit"}));
}

TEST(DivergenceTest, WhatARunKeptIsNotRecordedAgain) {
  const testing_support::TempFolder folder;
  std::map<std::string, std::string> kept;
  for (const std::string& run : {Runs::all().clean(), Runs::all().of("numerics/lost-part")}) {
    const Outcome replay =
        runRedraft(folder.path(), {"replay", "--json", run, "--op-digests", "2:3", "--out", folder.file("kept")});
    ASSERT_EQ(replay.code, 0) << replay.err;
    kept[run] = Json::parse(replay.out)["now"]["run_folder"];
  }
  const Json report = divergenceJson(kept.begin()->second, kept.rbegin()->second, 1);
  EXPECT_EQ(report["further_runs"], 0);
  EXPECT_EQ(report["verdict"], "operation");
  EXPECT_EQ(report["of_a"]["op"], "redraft::add_exact");
}

TEST(DivergenceTest, AGoldenSaysTheStepAndWhatItTakesToSayMore) {
  const std::filesystem::path goldens = std::filesystem::path(kSourceFolder) / "golden/data/dual-drafter/numerics";
  std::string golden;
  for (const auto& file : std::filesystem::directory_iterator(goldens))
    if (file.path().filename().string().starts_with("sim-avx2")) golden = file.path().string();
  ASSERT_FALSE(golden.empty());
  const Outcome told = divergence({golden, Runs::all().of("numerics/wrong-backward")});
  EXPECT_EQ(told.code, 1) << told.err;
  for (const char* part :
       {"first step that differs in what they stored: 2", "gradients are not", "--runner-a", "further runs: 0"})
    EXPECT_NE(told.out.find(part), std::string::npos) << told.out;

  const std::string runner = std::string(kBinaryFolder) + "/bin/redraft-runner";
  const Outcome run = divergence({golden, Runs::all().of("numerics/wrong-backward"), "--runner-a", runner});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_NE(run.out.find("drafter[1], layers.0.mlp: redraft::silu_mul_backward, backward of redraft::silu_mul"),
            std::string::npos)
      << run.out;
  EXPECT_EQ(run.out.find("did not come back"), std::string::npos) << run.out;
}

TEST(DivergenceTest, AFolderThatIsNoRunsIsBadInput) {
  const Outcome outcome = divergence({Runs::all().clean(), Runs::all().out()});
  EXPECT_EQ(outcome.code, 2) << outcome.out;
}

}  // namespace
}  // namespace redraft::scenarios
