// Every fault of the default suite, over the real runner: it is caught as its scenario expects, and its folder alone
// brings the same signature back.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "tests/paths.h"
#include "tests/scenarios/program.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

namespace fs = std::filesystem;

const fs::path kShipped = fs::path(kSourceFolder) / "scenarios";

class SuiteReplayTest : public ::testing::Test {
 protected:
  SuiteReplayTest() {
    fs::copy(kShipped / "files", fs::path(folder_.file("files")), fs::copy_options::recursive);
    fs::create_directory_symlink(kShipped / "data", folder_.file("data"));
    hangSooner();
  }

  /// The shipped limit leaves room for machines that do much else; every test of a hang has to sit it out.
  void hangSooner() const {
    const std::string path = folder_.file("files/dual-drafter/hang.json"), shipped = "\"hang_seconds\": 15";
    std::string text = readFile(path);
    const std::size_t at = text.find(shipped);
    ASSERT_NE(at, std::string::npos) << text;
    writeFileAtomically(path, text.replace(at, shipped.size(), "\"hang_seconds\": 8"));
  }

  Json redraft(const std::vector<std::string>& arguments, int code) const {
    const Outcome outcome = runRedraft(folder_.path(), arguments);
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }

  std::vector<std::string> faulty() const {
    std::vector<std::string> names;
    for (const Json& each : redraft({"list", "--json", "--scenarios", folder_.path()}, 0)) {
      if (each["expected_verdict"] != "PASSED") names.push_back(each["name"].get<std::string>());
    }
    return names;
  }

  const testing_support::TempFolder folder_;
};

TEST_F(SuiteReplayTest, EveryFaultComesBackWithTheSameSignature) {
  std::vector<std::string> arguments = {
      "run", "--json", "--scenarios", folder_.path(), "--out", folder_.file("runs"), "--jobs", "2"};
  const std::vector<std::string> names = faulty();
  ASSERT_GE(names.size(), 9u);
  arguments.insert(arguments.end(), names.begin(), names.end());
  const Json suite = redraft(arguments, 0);
  ASSERT_TRUE(suite.is_object());
  ASSERT_EQ(suite["cases"].size(), names.size());
  for (const Json& each : suite["cases"]) {
    ASSERT_FALSE(each["findings"].empty()) << each["name"];
    const Json replay =
        redraft({"replay", "--json", each["run_folder"].get<std::string>(), "--out", folder_.file("replays")}, 0);
    ASSERT_TRUE(replay.is_object()) << each["name"];
    EXPECT_EQ(replay["same"], true) << each["name"] << ": " << replay["text"];
    EXPECT_EQ(replay["now"]["findings"][0]["signature"], each["findings"][0]["signature"]);
    EXPECT_EQ(replay["now"]["verdict"], each["expected"]["verdict"]) << each["name"];
  }
}

TEST_F(SuiteReplayTest, ACrashAndAHangNameTheRoleAndShowItsStack) {
  const Json suite = redraft({"run", "--json", "--scenarios", folder_.path(), "--out", folder_.file("runs"),
                              "dual-drafter/crash", "dual-drafter/hang"},
                             0);
  ASSERT_EQ(suite["cases"].size(), 2u);
  const auto expectCause = [](const Json& finding, const std::string& signature, const std::string& frame) {
    EXPECT_EQ(finding["signature"], signature);
    EXPECT_NE(finding["details"].dump().find(frame), std::string::npos) << finding["details"].dump(1);
  };
  expectCause(suite["cases"][0]["findings"][0], "crash/signal|signal 11 (SIGSEGV)|drafter[1]|2||11", "Crash::act");
  expectCause(suite["cases"][1]["findings"][0], "hang/no-progress|hang|drafter[0]|2||0", "Hang::act");
}

}  // namespace
}  // namespace redraft::scenarios
