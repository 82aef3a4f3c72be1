// The shipped goldens and real runs of another numerics class: correct ones pass within the bounds that the goldens'
// responses give, planted defects are beyond them.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/paths.h"
#include "tests/scenarios/program.h"
#include "tests/support/temp_folder.h"

namespace redraft::scenarios {
namespace {

const std::string kRoot = kSourceFolder;

class AcrossCliTest : public ::testing::Test {
 protected:
  /// The case of a run of a shipped scenario, with these options.
  Json run(const std::string& name, std::vector<std::string> options) const {
    std::vector<std::string> arguments = {"run",
                                          "--json",
                                          name,
                                          "--out",
                                          folder_.file("runs"),
                                          "--scenarios",
                                          kRoot + "/scenarios",
                                          "--goldens",
                                          kRoot + "/golden/data"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = runRedraft(folder_.path(), arguments);
    const Json suite = Json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(suite.is_object()) << outcome.err;
    return suite.is_object() ? suite["cases"][0] : Json();
  }

  const testing_support::TempFolder folder_;
};

void expectIn(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
}

TEST_F(AcrossCliTest, ACorrectRunOfAnotherClassPassesAndSaysThatThisIsWeaker) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--isa", "default"}, {"--threads", "2"}}) {
    const Json result = run("dual-drafter/compile-disabled", options);
    ASSERT_EQ(result["verdict"], "PASSED") << result;
    expectIn(result["golden"], "within the bound derived for another class");
    expectIn(result["golden"], "weaker than bit for bit");
  }
}

TEST_F(AcrossCliTest, ADefectOfAnotherClassIsBeyondTheBound) {
  const Json result = run("numerics/wrong-position", {"--isa", "default"});
  ASSERT_EQ(result["verdict"], "FAILED") << result;
  EXPECT_EQ(result["findings"][0]["id"], "numerics/beyond-bound") << result;
  EXPECT_EQ(result["findings"][0]["step"], 1) << "the step at which it was planted: " << result;
}

TEST_F(AcrossCliTest, GoldensOfTheGpuAreWithinTheBoundsOfTheCpus) {
  for (const std::string name : {"single-drafter", "dual-drafter", "dual-drafter/compile-disabled"}) {
    const std::string folder = kRoot + "/golden/data/" + name + "/numerics/";
    const Outcome outcome = runRedraft(
        folder_.path(), {"compare", folder + "sim-avx2-torch2.11.0-t1-k1-15a3ffb3.json",
                         folder + "cuda-sm_90-torch2.11.0-k2-7da9dcf8.json", "--scenarios", kRoot + "/scenarios"});
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    expectIn(outcome.out, "within the bound derived for another class");
  }
}

}  // namespace
}  // namespace redraft::scenarios
