// `redraft drift` over the fake runner: the code is the runner, the environment what the class says.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "tests/scenarios/program.h"
#include "tests/scenarios/scenario_folder.h"

namespace redraft::scenarios {
namespace {

class DriftCliTest : public ::testing::Test {
 protected:
  DriftCliTest() {
    makeDirectories(folder_.root() + "/data");
    makeDirectories(folder_.root() + "/goldens");
    writeFileAtomically(folder_.root() + "/data/x.txt", "text");
    folder_.write("s", ScenarioFolder::whole("\"training\": {\"steps\": 3}"));
  }

  /// A build: redraft, and beside it a runner that answers to the environment by this shell text.
  std::string build(const std::string& name, const std::string& loss) const {
    const std::string bin = folder_.root() + "/" + name + "/bin";
    makeDirectories(bin);
    std::filesystem::copy_file(kRedraft, bin + "/redraft");
    const std::string runner = bin + "/redraft-runner";
    writeFileAtomically(
        runner, "#!/bin/sh\n" + loss +
                    "\nsed -i \"s/ \\\"isa\\\": \\\"[a-z0-9]*\\\"/ \\\"fault\\\": "
                    "{\\\"name\\\": \\\"script\\\", \\\"script\\\": [\\\"begin\\\", \\\"loss $LOSS\\\", "
                    "\\\"train\\\", \\\"files\\\", \\\"end completed\\\"]}, &/\" \"$2/scenario.resolved.json\"\n"
                    "exec " +
                    kFakeRunner + " \"$@\"\n");
    std::filesystem::permissions(runner, std::filesystem::perms::owner_all);
    return folder_.root() + "/" + name;
  }
  Outcome drift(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {
        "drift", "--json", "--out", folder_.root() + "/runs", "--goldens", folder_.root() + "/goldens"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", "s", "--scenarios", folder_.root()});
    return runRedraft(folder_.root(), arguments);
  }

  ScenarioFolder folder_;
};

constexpr const char* kSame = "LOSS=2.5";
constexpr const char* kByIsa = "case $ATEN_CPU_CAPABILITY in default) LOSS=2.50001;; *) LOSS=2.5;; esac";
constexpr const char* kPlainDefect = "case $ATEN_CPU_CAPABILITY in default) LOSS=3;; *) LOSS=2.5;; esac";

std::vector<std::string> bothWays(const std::string& old, const std::string& now) {
  return {"--old", old, "--new", now, "--old-env", "isa=avx2", "--new-env", "isa=default"};
}

TEST_F(DriftCliTest, TellsTheEnvironmentFromTheCode) {
  const std::string steady = build("steady", kSame), other = build("other", "LOSS=3"), isa = build("isa", kByIsa),
                    defect = build("defect", kPlainDefect);
  for (const auto& [old, now, answer, code] : {std::tuple{steady, steady, "NONE", 0},
                                               {isa, isa, "ENVIRONMENT", 1},
                                               {steady, other, "CODE", 1},
                                               {steady, defect, "INTERACTION", 1}}) {
    const Outcome outcome = drift(bothWays(old, now));
    ASSERT_NE(outcome.out, "") << outcome.err;
    const Json report = Json::parse(outcome.out);
    EXPECT_EQ(report["answer"], answer) << outcome.out;
    EXPECT_EQ(outcome.code, code) << answer;
    EXPECT_EQ(report["cells"].size(), 4u);
    EXPECT_NE(report["cells"][3]["commit"], "");
  }
}

TEST_F(DriftCliTest, ACellThatCannotBeRunIsNamedWithWhy) {
  const std::string steady = build("steady", kSame),
                    dying = build("dying", "[ $ATEN_CPU_CAPABILITY = default ] && exit 9; LOSS=2.5");
  const Outcome outcome = drift(bothWays(steady, dying));
  ASSERT_NE(outcome.out, "") << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["answer"], "NONE") << outcome.out;
  EXPECT_NE(report["because"].get<std::string>().find("could not be run"), std::string::npos);
  EXPECT_NE(report["cells"][3]["missing"], "");
  EXPECT_NE(outcome.err.find("old-in-new-1: " + steady), std::string::npos) << "it says what it is at: " << outcome.err;
}

TEST_F(DriftCliTest, WhatARunSaidWasWrongIsTheReasonOfItsCell) {
  const std::string steady = build("steady", kSame);
  const Outcome outcome = runRedraft(
      folder_.root(), {"drift", "--json", "--out", folder_.root() + "/runs", "--old", steady, "--new-env",
                       "isa=default", "--old-env", "isa=avx2", "--", "nothing", "--scenarios", folder_.root()});
  ASSERT_NE(outcome.out, "") << outcome.err;
  const std::string missing = Json::parse(outcome.out)["cells"][0]["missing"];
  EXPECT_NE(missing.find("\"nothing\" selects no scenario; see `redraft list`"), std::string::npos) << missing;
}

TEST_F(DriftCliTest, WhatIsTheSameIsRunOnce) {
  const std::string steady = build("steady", kSame), other = build("other", "LOSS=3");
  const Json code = Json::parse(drift({"--old", steady, "--new", other}).out);
  EXPECT_EQ(code["answer"], "CODE") << code.dump(1);
  EXPECT_EQ(listDirectory(code["folder"]).size(), 4u) << "two cells, twice each";
  const Json environment =
      Json::parse(drift({"--old", steady, "--new", steady, "--old-env", "isa=avx2", "--new-env", "isa=default"}).out);
  EXPECT_EQ(environment["answer"], "NONE") << environment.dump(1);
  EXPECT_EQ(listDirectory(environment["folder"]).size(), 4u);
}

TEST_F(DriftCliTest, AStoredRunStandsForOldCodeInItsEnvironment) {
  const std::string steady = build("steady", kSame), other = build("other", "LOSS=3");
  const Outcome first =
      runRedraft(folder_.root(), {"run", "s", "--scenarios", folder_.root(), "--runner", steady + "/bin/redraft-runner",
                                  "--out", folder_.root() + "/before"});
  const std::string stored = folder_.root() + "/before/latest/s";
  ASSERT_TRUE(fileExists(stored)) << first.err;
  const Json report =
      Json::parse(drift({"--new", other, "--stored", stored, "--old-env", stored, "--new-env", "isa=default"}).out);
  EXPECT_EQ(report["answer"], "CODE") << report.dump(1);
  EXPECT_EQ(report["cells"][1]["missing"], "--old names no build of it");
}

TEST_F(DriftCliTest, BadUsageIsNamed) {
  const Outcome nothing = drift({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_NE(nothing.err.find("neither code nor environment differs"), std::string::npos);
  const Outcome odd = drift({"--new-env", "isa=sse9"});
  EXPECT_EQ(odd.code, 2);
  EXPECT_NE(odd.err.find("isa=avx2|default|avx512"), std::string::npos);
  EXPECT_EQ(drift({"--new-env", "threads=0"}).code, 2);
  const Outcome nowhere = drift(bothWays(build("steady", kSame), folder_.root() + "/nowhere"));
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.err.find("--new: there is no redraft at "), std::string::npos) << nowhere.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.root() + "/runs")) << "nothing was run";
}

}  // namespace
}  // namespace redraft::scenarios
